/** No key can push the replies of another out of the store: a repeat of a paid call gets its reply. */
import { expect, it } from 'vitest';
import { memoryResultStore } from '../../src/stores/memory/result-store.ts';
import type { CallHandler } from '../support/driven-upstream.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { sampleRequests } from '../support/models.ts';
import { keyed } from './idempotent-calls.ts';

it.each([1_000, 20_000, 30_000])('of %i bytes, as many as it likes', async (bytes) => {
  const image = { created: 1, data: [{ b64_json: 'aGk=' }] };
  const message = { role: 'assistant', content: 'x'.repeat(bytes) };
  const long = {
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5 },
  };
  const answerWith =
    (body: unknown): CallHandler =>
    (up) =>
      up.answer(200, body, { 'content-type': 'application/json' });
  const { call, upstream } = gatewayInProcess({
    handlers: [answerWith(image), ...Array<CallHandler>(50).fill(answerWith(long))],
    options: {
      results: memoryResultStore({ maxBytes: 100_000 }),
      keys: {
        find: (secret) => ({
          id: secret,
          group: 'staff',
          disabled: false,
          quota: [{ id: secret, period: 'total', limitNanos: 1_000_000n }],
        }),
      },
    },
  });
  const by = (key: string) => ({ authorization: `Bearer ${key}` });
  const bought = await call(keyed(sampleRequests.image, 'order', by('victim')));
  for (let sent = 0; sent < 50; sent += 1) {
    await call(keyed(sampleRequests.chat, `other-${sent}`, by('other')));
  }

  const repeated = await call(keyed(sampleRequests.image, 'order', by('victim')));

  expect(repeated.status).toBe(200);
  expect(repeated.text).toBe(bought.text);
  expect(upstream.calls).toHaveLength(51);
});
