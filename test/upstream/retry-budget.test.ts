/** How many calls of a model may be on a second channel at once (FAULTS §4.5). */
import { expect, it } from 'vitest';
import { retryBudget } from '../../src/upstream/retry-budget.ts';

it('three calls may always try again, and a fourth only when one of them has ended', () => {
  const budget = retryBudget();
  const calls = Array.from({ length: 5 }, () => budget.begin('m'));

  expect(calls.map((call) => call.mayRetry())).toEqual([true, true, true, false, false]);
  calls[0]?.end();
  expect(calls[3]?.mayRetry()).toBe(true);
});

it('of many calls a fifth may, each as often as it likes', () => {
  const budget = retryBudget();
  const calls = Array.from({ length: 100 }, () => budget.begin('m'));

  const first = calls.filter((call) => call.mayRetry());
  const again = calls.filter((call) => call.mayRetry());

  expect(first.length).toBe(20);
  expect(again).toEqual(first);
});

it('calls of another model have a budget of their own', () => {
  const budget = retryBudget();
  for (let count = 0; count < 3; count += 1) budget.begin('m').mayRetry();

  expect(budget.begin('m').mayRetry()).toBe(false);
  expect(budget.begin('other').mayRetry()).toBe(true);
});

it('what a model has used up ends with its last call, however many models there are', () => {
  const budget = retryBudget();
  for (let model = 0; model < 10_001; model += 1) budget.begin(`idle-${model}`).end();
  const running = budget.begin('m');
  const calls = Array.from({ length: 3 }, () => budget.begin('m'));
  for (const call of calls) call.mayRetry();

  expect(running.mayRetry()).toBe(false);
  for (const call of [running, ...calls]) call.end();
  expect(budget.begin('m').mayRetry()).toBe(true);
});
