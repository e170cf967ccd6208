// suite: slow
/**
 * Claude in several places: whichever fail before, the next one gets exactly the request that it
 * would have got alone, and the caller its reply.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bedrock } from '../../src/platforms/bedrock/bedrock.ts';
import { azure, vertex } from '../../src/platforms/places.ts';
import type { Channel } from '../../src/ports/models/catalog.ts';
import type { CallHandler } from '../support/driven-upstream.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { channel, model } from '../support/models.ts';

const keys = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMIK7MDENG' };

const anthropic = { dialect: 'anthropic', baseUrl: 'https://api.anthropic.com/v1' } as const;

const places: readonly Partial<Channel>[] = [
  anthropic,
  { ...bedrock({ region: 'us-east-1', kind: 'mantle' }), credential: () => keys },
  { ...bedrock({ region: 'us-east-1', kind: 'runtime' }), credential: () => keys },
  vertex({ kind: 'anthropic', project: 'p', location: 'us-east5' }),
  azure({ kind: 'anthropic', resource: 'contoso' }),
].map((place, index) => ({ id: `c${index}`, upstreamModel: `claude-${index}`, ...place }));

/** A history with marks for the cache, signed thinking and a tool, and flags that some refuse. */
const request = {
  path: '/v1/messages',
  headers: {
    'anthropic-version': '2023-06-01',
    'anthropic-beta':
      'interleaved-thinking-2025-05-14,prompt-caching-scope-2026-01-05,skills-2025-10-02',
  },
  body: JSON.stringify({
    model: 'chat',
    max_tokens: 100,
    container: 'c-1',
    system: [
      { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', scope: 'global' } },
    ],
    messages: [
      { role: 'user', content: 'Weather in Rome?' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Look it up.', signature: 'c2lnbmF0dXJl' },
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Rome' } },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'Sunny' }],
      },
    ],
    tools: [
      { name: 'weather', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral' } },
    ],
  }),
};

const replies: CallHandler = (up) =>
  up.answer(200, {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'Sunny.' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 30, output_tokens: 2 },
  });

/** Calls through these places in this order; so many of the first ones answer with the status. */
async function callThrough(order: readonly Partial<Channel>[], failing: number, status = 529) {
  const fails: CallHandler = (up) => up.answer(status, { type: 'error', error: {} });
  const channels = order.map((place, priority) => channel({ ...place, priority }));
  const { call, upstream, records } = gatewayInProcess({
    models: [model({ protocols: ['messages'], allow: { container: true }, channels })],
    handlers: order.map((_, index) => (index < failing ? fails : replies)),
  });
  const reply = await call(request);
  const sent = upstream.calls.map(({ request: { origin, path, headers, body } }) => ({
    origin,
    path,
    headers,
    body: Buffer.concat([...body]).toString(),
  }));
  return { reply, sent, records };
}

describe('fail-over between platforms', () => {
  it('sends each of them what it would have got alone', () =>
    fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray([...places], { minLength: 2, maxLength: 3 }),
        fc.constantFrom(429, 503, 529),
        async (order, any) => {
          // A call that may have run twice is not sent a third time.
          const status = order.length > 2 ? 429 : any;
          const { reply, sent, records } = await callThrough(order, order.length - 1, status);
          const last = await callThrough(order.slice(-1), 0);

          expect(reply.status).toBe(200);
          expect(reply.text).toBe(last.reply.text);
          expect(reply.headers['x-tollgate-dropped']).toBe(
            last.reply.headers['x-tollgate-dropped'],
          );
          for (const [index, place] of order.entries()) {
            expect([sent[index]]).toEqual((await callThrough([place], 0)).sent);
          }
          expect(records).toHaveLength(1);
          expect(records).toMatchObject([{ channelId: order.at(-1)?.id }]);
        },
      ),
      { numRuns: 40 },
    ));

  it('keeps what the history needs in every place', async () => {
    for (const place of places) {
      const { sent } = await callThrough([place], 0);
      const body = JSON.parse(sent[0]?.body ?? '');

      expect(body.messages).toEqual(JSON.parse(request.body).messages);
      expect(body.system).toMatchObject([{ cache_control: { type: 'ephemeral' } }]);
      expect(body.tools).toMatchObject([{ cache_control: { type: 'ephemeral' } }]);
    }
  });

  it('keeps a session at one of them, and spreads sessions over all', async () => {
    const sessions = Array.from({ length: 40 }, (_, index) => `session-${index}`);
    const calls = sessions.flatMap((session) => [session, session, session]);
    const channels = places.map((place) => channel({ ...place, stickyBy: 'session' }));
    const { call, records, ended } = gatewayInProcess({
      models: [model({ protocols: ['messages'], allow: { container: true }, channels })],
      handlers: calls.map(() => replies),
    });
    for (const session of calls) {
      const headers = { ...request.headers, 'x-claude-code-session-id': session };
      await call({ ...request, headers });
    }
    await ended(calls.length);

    const used = sessions.map((_, index) =>
      records.slice(3 * index, 3 * index + 3).map(({ channelId }) => channelId),
    );
    for (const ids of used) expect(new Set(ids).size).toBe(1);
    expect(new Set(used.flat()).size).toBe(places.length);
  });
});
