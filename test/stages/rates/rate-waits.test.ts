// suite: quick
/**
 * `Retry-After` is true: for random limits of the key, its group and the model, a call that was
 * refused is granted after exactly the wait in its `Retry-After`, if nobody else calls.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type {
  AmountPerPeriod,
  KeyRateLimits,
  RateLimits,
} from '../../../src/ports/limits/rates.ts';
import { type CallerReply, gatewayInProcess } from '../../support/gateway-in-process.ts';
import { chat, completeReply, model } from '../../support/models.ts';
import { runsOf } from '../../support/sample.ts';

/** The largest call takes its prompt of 11 tokens and 100 of output. */
const largestCall = 111;

function amounts(min: number, max: number): fc.Arbitrary<AmountPerPeriod> {
  const limit = fc.integer({ min, max });
  return fc.record({ perMinute: limit, perHour: limit }, { requiredKeys: ['perMinute'] });
}

const limits: fc.Arbitrary<RateLimits> = fc.oneof(
  fc.record({ calls: amounts(1, 6) }),
  fc.record({ tokens: amounts(largestCall, 400) }),
  fc.record({ calls: amounts(1, 6), tokens: amounts(largestCall, 400) }),
);

const keyLimits: fc.Arbitrary<KeyRateLimits> = fc
  .tuple(limits, fc.constantFrom({}, { subject: 'group' }, { model: 'chat' }))
  .map(([stated, scope]) => ({ ...stated, ...scope }));

/** The pause before a call, and its `max_tokens`. */
const calls = fc.array(fc.tuple(fc.nat(20_000), fc.integer({ min: 1, max: 100 })), {
  minLength: 1,
  maxLength: 12,
});

function waitOf({ headers }: CallerReply): number {
  return Number(headers['retry-after-ms']);
}

it('a refused call is granted after its wait', async () => {
  const refusals = { beforeBody: 0, afterBody: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(keyLimits, { minLength: 1, maxLength: 3 }),
      fc.option(limits, { nil: undefined }),
      calls,
      async (rates, ofModel, sequence) => {
        const { call, clock } = gatewayInProcess({
          handlers: Array.from({ length: 50 }, () => completeReply('chat')),
          models: [ofModel === undefined ? model() : model({ rates: ofModel })],
          key: { rates },
        });
        for (const [pauseMs, maxTokens] of sequence) {
          clock.advance(pauseMs);
          const request = chat({ max_tokens: maxTokens });
          let reply = await call(request);
          if (reply.status === 429 && !wasRead(reply)) {
            refusals.beforeBody += 1;
            clock.advance(waitOf(reply));
            reply = await call(request);
            // The limits of calls grant it now. What it may use of tokens was not known before.
            if (reply.status === 429) expect(wasRead(reply)).toBe(true);
          }
          if (reply.status === 429) {
            refusals.afterBody += 1;
            clock.advance(waitOf(reply));
            reply = await call(request);
          }
          expect(reply.status).toBe(200);
        }
      },
    ),
    { numRuns: process.env.TEST_FORM === 'full' ? 400 : runsOf(80) },
  );

  expect(refusals.beforeBody).toBeGreaterThan(runsOf(80) / 4);
  expect(refusals.afterBody).toBeGreaterThan(runsOf(80) / 4);
});

/** True if a limit refused the call that is only known once its body was read. */
function wasRead({ text }: CallerReply): boolean {
  const { message } = JSON.parse(text).error;
  return /tokens per|this model:/.test(message);
}
