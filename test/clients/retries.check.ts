/** Clients of the Messages API retry by the headers of a failure, and then get their answer. */
import { describe, expect, it } from 'vitest';
import { anthropicError } from '../../src/testing/providers/anthropic-replies.ts';
import { geminiError } from '../../src/testing/providers/gemini-content.ts';
import { openaiError } from '../../src/testing/providers/provider.ts';
import type { Script } from '../../src/testing/providers/scripts.ts';
import { failureOf, pairs, started } from './pairs.ts';
import type { UpstreamName } from './upstreams.ts';

const soon = { 'retry-after': '1' };
const retryInfo = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1s' };

/** What each upstream says when it is asked too often, and when it is overloaded. */
const failuresOf: Partial<Record<UpstreamName, readonly Script[]>> = {
  anthropic: [
    anthropicError(429, 'rate_limit_error', 'This request would exceed your rate limit.', soon),
    anthropicError(529, 'overloaded_error', 'Overloaded', soon),
  ],
  chat: [
    openaiError(429, 'Rate limit reached.', { code: 'rate_limit_exceeded' }, soon),
    openaiError(503, 'The server is overloaded.', { type: 'server_error' }, soon),
  ],
  gemini: [
    geminiError(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.', [retryInfo]),
    geminiError(503, 'UNAVAILABLE', 'The model is overloaded.', [retryInfo]),
  ],
};

// Only the package decides on retries, so one way of each is enough.
const packages = new Set<string>();
const onePerPackage = pairs(7, 'messages').filter(([, { client, upstream }]) => {
  const [name = ''] = /^\w+ [\d.]+/.exec(client.name) ?? [];
  const isFirst = !packages.has(`${name} ${upstream.name}`);
  packages.add(`${name} ${upstream.name}`);
  return isFirst && upstream.name in failuresOf;
});

// They wait for seconds, and side by side.
describe.concurrent.each(onePerPackage)('%s', (_name, { client, upstream, ...pair }) => {
  const failures = (failuresOf[upstream.name] ?? []).map(
    (failure) => [failure.status ?? 0, failure] as const,
  );

  it.for(failures)('answers after a %i', async ([, failure], { onTestFinished }) => {
    const { target, upstream: fake } = await started({ ...pair, client, upstream }, onTestFinished);
    fake.enqueue(failure);

    const { text } = await client.ask({ ...target('plain'), maxRetries: 2 }, { prompt: 'Hello!' });

    expect(text).toMatch(/^H/);
    expect(fake.calls).toHaveLength(2);
  });

  it.for(failures)('raises a %i as it is where it may not retry', async ([
    status,
    failure,
  ], context) => {
    const { target, upstream: fake } = await started(
      { ...pair, client, upstream },
      context.onTestFinished,
    );
    fake.enqueue(failure);

    const raised = await failureOf(client.ask(target('plain'), { prompt: 'Hello!' }));

    expect(raised.status).toBe(status);
    expect(fake.calls).toHaveLength(1);
  });
});
