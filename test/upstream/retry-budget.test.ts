// suite: quick
/** How many calls of a model may be retried at once. */
import { expect, it } from 'vitest';
import { retryBudget } from '../../src/upstream/retry-budget.ts';

it('three calls may always retry, and a fourth only when one of them has ended', () => {
  const budget = retryBudget();
  const calls = Array.from({ length: 5 }, () => budget.begin('m'));

  expect(calls.map((call) => call.mayRetry())).toEqual([true, true, true, false, false]);
  calls[0]?.end();
  expect(calls[3]?.mayRetry()).toBe(true);
});

it('a fifth of many calls may retry, each any number of times', () => {
  const budget = retryBudget();
  const calls = Array.from({ length: 100 }, () => budget.begin('m'));

  const first = calls.filter((call) => call.mayRetry());
  const again = calls.filter((call) => call.mayRetry());

  expect(first.length).toBe(20);
  expect(again).toEqual(first);
});

it('each model has a separate budget', () => {
  const budget = retryBudget();
  for (let count = 0; count < 3; count += 1) budget.begin('m').mayRetry();

  expect(budget.begin('m').mayRetry()).toBe(false);
  expect(budget.begin('other').mayRetry()).toBe(true);
});

it('the budget of a model is restored after its last call, however many models there are', () => {
  const budget = retryBudget();
  for (let model = 0; model < 10_001; model += 1) budget.begin(`idle-${model}`).end();
  const running = budget.begin('m');
  const calls = Array.from({ length: 3 }, () => budget.begin('m'));
  for (const call of calls) call.mayRetry();

  expect(running.mayRetry()).toBe(false);
  for (const call of [running, ...calls]) call.end();
  expect(budget.begin('m').mayRetry()).toBe(true);
});
