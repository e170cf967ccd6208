// suite: quick
/**
 * Whose limit refused a call and what it counts, for every owner, kind and period: the event, the
 * recorded refusal and what the process remembers name the same limit as the caller's message.
 */
import { describe, expect, it } from 'vitest';
import { liveFigures } from '../../../src/admin/now/live.ts';
import type { GatewayEvent } from '../../../src/events/events.ts';
import type { RateLimits } from '../../../src/ports/limits/rates.ts';
import { memoryUsageSink } from '../../../src/stores/memory/usage-sink.ts';
import { type GatewaySetup, gatewayInProcess } from '../../support/gateway-in-process.ts';
import { chat, completeReply, model, sampleRequests } from '../../support/models.ts';
import { pass } from '../ports/failing.ts';
import { messageOf, reserved } from '../rates/rate-limited.ts';

/** Gateways with the limits of each owner, and how the message calls the owner. */
const owners: Readonly<
  Record<string, readonly [setup: (limits: RateLimits) => GatewaySetup, text: string]>
> = {
  key: [(limits) => ({ key: { rates: [limits] } }), 'this key'],
  quota: [(limits) => ({ key: { rates: [{ ...limits, subject: 'team' }] } }), "this key's quota"],
  model: [(limits) => ({ models: [model({ rates: limits })] }), 'this model'],
  'key/model': [
    (limits) => ({ key: { rates: [{ ...limits, model: 'chat' }] } }),
    'this key on this model',
  ],
  'quota/model': [
    (limits) => ({ key: { rates: [{ ...limits, subject: 'team', model: 'chat' }] } }),
    "this key's quota on this model",
  ],
};
const periods = { minute: 'perMinute', hour: 'perHour', day: 'perDay' } as const;
const kinds = { calls: 1, tokens: reserved } as const;

const rateCases = Object.entries(owners).flatMap(([whose, [setup, text]]) =>
  (['calls', 'tokens'] as const).flatMap((counts) =>
    (['minute', 'hour', 'day'] as const).map((period) => ({
      limit: `${whose}:${counts}/${period}`,
      text: new RegExp(`for ${text}: [\\d ]*${counts.slice(0, -1)}s? per ${period}`),
      setup: setup({ [counts]: { [periods[period]]: kinds[counts] } }),
    })),
  ),
);

/** A gateway that records its refusals, and where these are found. */
function observed(setup: GatewaySetup) {
  const log = memoryUsageSink();
  const { options, ...more } = setup;
  const harness = gatewayInProcess({ ...more, options: { ...options, recordRefusals: log } });
  const live = liveFigures(harness.clock);
  const found = async () => {
    const [event] = harness.allEvents.filter(isRefusal);
    if (event !== undefined) live.add(event);
    await pass(harness.clock, 61_000);
    return {
      event: event?.limit,
      recorded: log.refusals.map(({ detail }) => detail),
      remembered: live.refusals().map(({ detail }) => detail),
    };
  };
  const { call, start, upstream } = harness;
  return { call, start, upstream, found };
}

function isRefusal(event: GatewayEvent): event is Extract<GatewayEvent, { type: 'call_refused' }> {
  return event.type === 'call_refused';
}

const everywhere = (limit: string) => ({ event: limit, recorded: [limit], remembered: [limit] });

describe('a refusal by a limit', () => {
  it.each(rateCases)('names $limit', async ({ limit, text, setup }) => {
    const { call, start, upstream, found } = observed(setup);
    const first = start(sampleRequests.chat);
    const up = await upstream.next();

    const refused = await call(sampleRequests.chat);
    completeReply('chat')(up);
    await first.reply;

    expect(refused.status).toBe(429);
    expect(messageOf(refused)).toMatch(text);
    expect(await found()).toEqual(everywhere(limit));
  });

  it('names a limit that the call alone exceeds', async () => {
    const { call, found } = observed({ key: { rates: [{ tokens: { perDay: 50 } }] } });

    const refused = await call(chat({ max_tokens: 100 }));

    expect(messageOf(refused)).toContain('this key: 50 tokens per day');
    expect(await found()).toEqual(everywhere('key:tokens/day'));
  });

  it.each<readonly [limit: string, status: number, setup: GatewaySetup]>([
    ['key:concurrent_calls', 429, { key: { maxConcurrentCalls: 1 } }],
    [
      'quota:concurrent_calls',
      429,
      {
        key: {
          quota: [{ id: 'team', period: 'total', limitNanos: 1_000n, maxConcurrentCalls: 1 }],
        },
      },
    ],
    ['gateway:concurrent_calls', 503, { options: { maxConcurrentCalls: 1 } }],
  ])('names %s', async (limit, status, setup) => {
    const { call, start, upstream, found } = observed(setup);
    const first = start(sampleRequests.chat);
    const up = await upstream.next();

    const refused = await call(sampleRequests.chat);
    completeReply('chat')(up);
    await first.reply;

    expect(refused.status).toBe(status);
    expect(await found()).toEqual(everywhere(limit));
  });
});
