// suite: quick
/**
 * The claim of a call with an `Idempotency-Key` lasts as long as the call may run, wherever a time
 * limit stands. If it ended earlier, a repeat would buy the same image once more.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Timeouts } from '../../../src/ports/timeouts.ts';
import { memoryIdempotencyStore } from '../../../src/stores/memory/idempotency-store.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { channel, model, sampleRequests } from '../../support/models.ts';
import { runsOf } from '../../support/sample.ts';
import { pass, turns } from '../ports/failing.ts';
import { keyed } from './idempotent-calls.ts';

const minuteMs = 60_000;
const defaultMinutes = 15;
const limit = fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined });
type Limits = typeof limits extends fc.Arbitrary<infer T> ? T : never;
const limits = fc.record({
  ofGateway: limit,
  ofModel: limit,
  ofChannels: fc.array(limit, { minLength: 1, maxLength: 3 }),
  ofFallback: limit,
  ofItsChannel: limit,
});

/** The last account reached is silent; those before it can't be reached. */
it('the claim lasts longer than the call', async () => {
  await fc.assert(
    fc.asyncProperty(limits, fc.nat(3), async (plan, unreachable) => {
      const store = memoryIdempotencyStore();
      const clock = { claimedMs: 0, leaseMs: 0 };
      const image = {
        protocols: ['images'],
        price: { per: 'image', rows: [{ size: '1024x1024', nanos: 500n }] },
      } as const;
      const running = gatewayInProcess({
        models: [
          model({
            ...image,
            id: 'image',
            fallbacks: ['spare'],
            ...stated(plan.ofModel),
            channels: plan.ofChannels.map((own, index) =>
              channel({ id: `c${index}`, ...stated(own) }),
            ),
          }),
          model({
            ...image,
            id: 'spare',
            ...stated(plan.ofFallback),
            channels: [channel({ id: 'spare', ...stated(plan.ofItsChannel) })],
          }),
        ],
        handlers: Array<CallHandler>(Math.min(unreachable, plan.ofChannels.length)).fill((up) =>
          up.breakOff('connect_refused', { stage: 'connect' }),
        ),
        options: {
          ...stated(plan.ofGateway),
          idempotency: {
            ...store,
            claim: (input) => {
              Object.assign(clock, { claimedMs: running.clock.now(), leaseMs: input.leaseMs });
              return store.claim(input);
            },
          },
        },
      });
      let isOver = false;
      const { reply } = running.start(keyed(sampleRequests.image));
      const ended = reply.finally(() => {
        isOver = true;
      });
      await turns();
      while (!isOver) await pass(running.clock, 30_000);
      await ended;

      const tookMs = running.clock.now() - clock.claimedMs;
      expect(tookMs).toBeLessThan(clock.leaseMs);
      const minutes = longestWait(plan, unreachable);
      if (minutes !== undefined) expect(Math.floor(tookMs / minuteMs)).toBe(minutes);
      // The hold of an image in doubt ends some time after the call.
      running.clock.advance(60 * minuteMs);
    }),
    { numRuns: runsOf(100) },
  );
});

/** The limit of the silent account; that of a fallback ends with the limits of its model. */
function longestWait(plan: Limits, unreachable: number): number | undefined {
  const { ofGateway, ofModel, ofChannels, ofFallback, ofItsChannel } = plan;
  const own = ofModel ?? ofGateway ?? defaultMinutes;
  const all = ofChannels.map((limit) => limit ?? own);
  if (unreachable < all.length) return ofChannels[unreachable] ?? ofModel ?? ofGateway;
  const spare = ofItsChannel ?? ofFallback ?? ofGateway;
  return spare === undefined ? undefined : Math.min(spare, Math.max(own, ...all));
}

function stated(minutes: number | undefined): { readonly timeouts?: Partial<Timeouts> } {
  if (minutes === undefined) return {};
  const ms = minutes * minuteMs;
  return { timeouts: { totalMs: ms, firstByteMs: ms } };
}
