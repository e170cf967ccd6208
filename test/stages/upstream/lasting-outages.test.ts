// suite: quick
/**
 * Models whose channels are all out, in any mix of ways. A caller is told to wait only where a wait
 * helps, and that its model does not exist where the upstreams do not know it.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GatewayEvent } from '../../../src/events/events.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import { type CallerRequest, gatewayInProcess } from '../../support/gateway-in-process.ts';
import { channel, chat, completeReply, model } from '../../support/models.ts';

/** Why a channel serves nothing. Those with a status were called once, and got it. */
interface Outage {
  readonly change?: Partial<Channel>;
  readonly status?: number;
}

const outages = {
  'weight 0': { change: { weight: 0 } },
  'other group': { change: { groups: ['others'] } },
  disabled: {},
  refused: { status: 401 },
  unpaid: { status: 402 },
  unknown: { status: 404 },
} satisfies Readonly<Record<string, Outage>>;
type Condition = keyof typeof outages;
const conditions: Readonly<Record<Condition, Outage>> = outages;
const names: readonly Condition[] = [
  'weight 0',
  'other group',
  'disabled',
  'refused',
  'unpaid',
  'unknown',
];

const idOf = (index: number): string => 'abcd'[index] ?? '';

/** Every call that reaches a channel is answered with its status. */
function answers(pool: readonly Condition[]): CallHandler {
  return (up) => {
    const condition = pool['abcd'.indexOf(up.request.origin.slice('https://'.length)[0] ?? '')];
    const { status = 200 } = conditions[condition ?? 'disabled'];
    up.answer(status, { error: { message: 'No.' } });
  };
}

/** A gateway whose model `out` has the channels of the pool, in these conditions. */
async function outOf(pool: readonly Condition[]) {
  const channels = pool.map((condition, index) =>
    channel({
      id: idOf(index),
      baseUrl: `https://${idOf(index)}.example/v1`,
      upstreamModel: 'up',
      ...conditions[condition].change,
    }),
  );
  const harness = gatewayInProcess({
    handlers: Array.from({ length: 12 }, () => answers(pool)),
    models: [
      model({ id: 'out', channels }),
      ...channels.map((one) => model({ id: `only-${one.id}`, channels: [one] })),
    ],
  });
  for (const [index, condition] of pool.entries()) {
    if (condition === 'disabled') harness.gateway.disableChannel(idOf(index));
    if (conditions[condition].status !== undefined) {
      await harness.call(chat({ model: `only-${idOf(index)}` }));
    }
  }
  return harness;
}

type NoChannel = Extract<GatewayEvent, { readonly type: 'no_channel' }>;

/** The reason of the event; undefined where an upstream is asked again. */
function reasonFor(pool: readonly Condition[]): NoChannel['reason'] | undefined {
  const weighted = pool.filter((one) => one !== 'weight 0');
  if (weighted.length === 0) return 'none_configured';
  const allowed = weighted.filter((one) => one !== 'other group');
  if (allowed.length === 0) return 'group_restriction';
  // The last resort of the pool: one call at a time.
  if (allowed.includes('unknown')) return undefined;
  if (allowed.includes('unpaid')) return 'cooling_down';
  return allowed.includes('refused') ? 'account_refused' : 'switched_off';
}

describe('a model whose channels are all out', () => {
  it('sends its callers away to wait only where that helps', async () => {
    const pools = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(pools, async (pool) => {
        const { call, allEvents } = await outOf(pool);
        const before = allEvents.length;

        const { status, headers, text } = await call(chat({ model: 'out' }));

        const reason = reasonFor(pool);
        const none = allEvents.slice(before).find(({ type }) => type === 'no_channel');
        expect(none === undefined ? undefined : none).toEqual(
          reason === undefined ? undefined : expect.objectContaining({ reason }),
        );
        expect(status).toBe(reason === undefined ? 404 : 503);
        expect(headers['retry-after']).toBe(reason === 'cooling_down' ? '3600' : undefined);
        expect(headers['x-should-retry']).toBe('false');
        expect(text).not.toMatch(/retry|again/i);
      }),
      { numRuns: 150 },
    );
  });
});

describe('a model that its upstreams do not know', () => {
  const missing: CallHandler = (up) => up.answer(404, { error: { message: 'No such model.' } });

  it('is 404 for all callers, also while one of them asks the upstream again', async () => {
    const harness = gatewayInProcess({ handlers: [missing] });
    const first = await harness.call(chat());
    const asking = harness.start(chat());
    const retried = await harness.upstream.next().then(() => harness.upstream.next());

    const second = await harness.call(chat());
    retried.answer(404, { error: { message: 'No such model.' } });
    const third = await asking.reply;

    for (const { status, headers, text } of [first, second, third]) {
      expect([status, headers['retry-after'], headers['x-should-retry']]).toEqual([
        404,
        undefined,
        'false',
      ]);
      expect(JSON.parse(text).error).toMatchObject({ code: 'model_not_found', param: 'model' });
      expect(text).toContain('does not serve this model to this gateway');
    }
    expect(harness.allEvents).toContainEqual(
      expect.objectContaining({ type: 'no_channel', reason: 'upstream_model_not_found' }),
    );
  });

  it('is served by its fallbacks first', async () => {
    const other = channel({ id: 'other', baseUrl: 'https://other.example/v1' });
    const { call } = gatewayInProcess({
      handlers: [missing, completeReply('chat'), completeReply('chat')],
      models: [model({ fallbacks: ['spare'] }), model({ id: 'spare', channels: [other] })],
    });

    expect((await call(chat())).status).toBe(200);
    expect((await call(chat())).status).toBe(200);
  });

  const forms: readonly [CallerRequest, object][] = [
    [
      {
        path: '/v1beta/models/any:generateContent',
        body: { contents: [{ parts: [{ text: 'a' }] }] },
      },
      { error: { code: 404, status: 'NOT_FOUND' } },
    ],
    [
      {
        path: '/v1/messages',
        body: { model: 'any', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
      },
      { type: 'error', error: { type: 'not_found_error' } },
    ],
    [
      { path: '/v1/responses', body: { model: 'any', input: 'hi' } },
      { error: { code: 'model_not_found' } },
    ],
  ];
  it.each(forms)('is 404 in the form of the caller: %j', async (request, form) => {
    const { call } = gatewayInProcess({
      handlers: [missing],
      models: [model({ id: 'any', protocols: ['chat', 'native', 'messages', 'responses'] })],
    });

    const { status, text } = await call(request);

    expect(status).toBe(404);
    expect(JSON.parse(text)).toMatchObject(form);
  });
});

describe('a channel that works beside one that does not', () => {
  it('decides the answer of the caller, whatever the order', async () => {
    const fails: CallHandler = (up) => up.answer(500, { error: { message: 'No.' } });
    const refuses: CallHandler = (up) => up.answer(401, { error: { message: 'No.' } });
    const channels = [0, 1].map((index) =>
      channel({ id: idOf(index), priority: index, baseUrl: `https://${idOf(index)}.example/v1` }),
    );
    for (const handlers of [
      [fails, refuses],
      [refuses, fails],
    ]) {
      const { call } = gatewayInProcess({ handlers, models: [model({ channels })] });

      const { status, headers, text } = await call(chat());

      expect([status, headers['x-should-retry']]).toEqual([502, undefined]);
      expect(text).toContain('Retry later');
    }
  });
});
