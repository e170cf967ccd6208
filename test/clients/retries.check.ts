/** Clients of the Messages API retry by the headers of a failure, and then get their answer. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { anthropicError } from '../../src/testing/providers/anthropic-errors.ts';
import { failureOf, pairs, started } from './pairs.ts';

const failures = [
  [429, 'rate_limit_error', 'This request would exceed your rate limit.'],
  [529, 'overloaded_error', 'Overloaded'],
] as const;

// Only the package decides on retries, so one way of each is enough.
const packages = new Set<string>();
const onePerPackage = pairs(7, 'messages').filter(([, { client, upstream }]) => {
  const [name = ''] = /^\w+ [\d.]+/.exec(client.name) ?? [];
  if (upstream.name !== 'anthropic' || packages.has(name)) return false;
  packages.add(name);
  return true;
});

describe.each(onePerPackage)('%s', (_name, pair) => {
  const { client } = pair;

  it.each(failures)('answers after a %i', async (status, type, message) => {
    const { target, upstream: fake } = await started(pair, onTestFinished);
    fake.enqueue(anthropicError(status, type, message, { 'retry-after': '1' }));

    const { text } = await client.ask({ ...target('plain'), maxRetries: 2 }, { prompt: 'Hello!' });

    expect(text).toMatch(/^Hello/);
    expect(fake.calls).toHaveLength(2);
  });

  it.each(
    failures,
  )('raises a %i as it is where it may not retry', async (status, type, message) => {
    const { target, upstream: fake } = await started(pair, onTestFinished);
    fake.enqueue(anthropicError(status, type, message, { 'retry-after': '1' }));

    const failure = await failureOf(client.ask(target('plain'), { prompt: 'Hello!' }));

    expect(failure.status).toBe(status);
    expect(fake.calls).toHaveLength(1);
  });
});
