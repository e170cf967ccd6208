// suite: slow
/**
 * However calls end, the rate limits have counted what was used: the tokens of each call that is
 * charged, none of one that is not, and nothing of a call that never ran. Random sequences of calls
 * end in every way, at every stage.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/ports/call-options.ts';
import type { RateLimiter, RateTake } from '../../../src/ports/limits/rate-limiter.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import { memoryRateLimiter } from '../../../src/stores/memory/rate-limiter.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import {
  type CallerRequest,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import {
  completeReply,
  defaultModels,
  headersOf,
  type Kind,
  kinds,
  replies,
  sampleRequests,
  streamBeginnings,
} from '../../support/models.ts';
import { runsOf } from '../../support/sample.ts';
import { keyed } from '../idempotency/idempotent-calls.ts';
import { turns } from '../ports/failing.ts';

/** Every call reserves its prompt of 11 tokens and 100 of output. */
const reservedTokens = 111;

/** With this price, a charge in nanos is the number of tokens that it is for. */
const oneNanoPerToken = {
  per: 'token',
  rates: { input: 1_000_000n, output: 1_000_000n },
} as const;

const limits = {
  calls: { perDay: 1_000_000_000 },
  tokens: { perMinute: 1_000_000_000, perDay: 1_000_000_000 },
};
/** Each model has a fallback on an account of its own, and both have limits. */
const models = defaultModels().flatMap((model): readonly Model[] => {
  const price = model.price.per === 'image' ? model.price : oneNanoPerToken;
  const spare = `${model.id}-spare`;
  const channels = model.channels.map((account) => ({ ...account, id: `${account.id}-spare` }));
  return [
    { ...model, price, rates: limits, fallbacks: [spare] },
    { ...model, id: spare, price, rates: limits, channels },
  ];
});
const modelIds = models.map(({ id }) => id);

/** What the upstream or the caller does once the call was sent. */
const endings = {
  complete: (up, kind) => completeReply(kind)(up),
  'no connection': (up) => up.breakOff('connect_refused', { stage: 'connect' }),
  'a reset': (up) => up.breakOff('reset', { stage: 'sent' }),
  'status 400': (up) => up.answer(400, { error: { message: 'no' } }),
  'status 500': (up) => up.answer(500, { error: { message: 'no' } }),
  garbage: (up, kind) => up.answer(200, 'garbage', headersOf(kind)),
  'a cut reply': (up, kind) => {
    up.respond(200, headersOf(kind));
    up.write(beginningOf(kind));
    up.breakOff('reset');
  },
  'a caller that leaves at once': (_up, _kind, leave) => leave(),
  'a caller that leaves during the reply': (up, kind, leave) => {
    up.respond(200, headersOf(kind));
    up.write(beginningOf(kind));
    leave();
    up.write(replies[kind]);
    up.end();
  },
} satisfies Readonly<Record<string, (up: DrivenCall, kind: Kind, leave: () => void) => void>>;

function beginningOf(kind: Kind): string {
  return kind === 'chatStream' || kind === 'nativeStream'
    ? streamBeginnings[kind]
    : replies[kind].slice(0, 30);
}

/** What happens before the call would be sent. */
const refusals = [
  'no quota',
  'a quota store that is down',
  'too large',
  'an invalid body',
] as const;
type Refusal = (typeof refusals)[number];

interface Step {
  readonly kind: Kind;
  readonly ending: keyof typeof endings;
  /** The ending with the fallback, if the account of the model is out. */
  readonly spareEnding: keyof typeof endings;
  readonly refusal: Refusal | undefined;
  readonly isRepeated: boolean;
}

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    kind: fc.constantFrom(...kinds),
    ending: fc.constantFrom(...Object.keys(endings).filter(isEnding)),
    spareEnding: fc.constantFrom(...Object.keys(endings).filter(isEnding)),
    refusal: fc.option(fc.constantFrom(...refusals), { nil: undefined, freq: 3 }),
    isRepeated: fc.boolean(),
  }),
  { minLength: 1, maxLength: 8 },
);

function isEnding(name: string): name is keyof typeof endings {
  return name in endings;
}

it('count what calls used, however they end', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const { limiter, used } = countingLimiter();
      let refusal: Refusal | undefined;
      const harness = gatewayInProcess({
        models,
        key: {
          rates: [
            limits,
            { ...limits, subject: 'group' },
            ...modelIds.map((model) => ({ ...limits, model })),
          ],
        },
        options: { rateLimiter: limiter },
        store: (quota) => ({
          reserve: (input) => {
            if (refusal === 'a quota store that is down') throw new StoreUnavailable('down');
            return refusal === 'no quota'
              ? { status: 'insufficient', subject: 'caller', available: 0n }
              : quota.reserve(input);
          },
        }),
      });
      let calls = 0;
      for (const [index, step] of sequence.entries()) {
        refusal = step.refusal;
        calls += await play(harness, step, requestOf(step, index));
      }
      await harness.gateway.close();

      expect(used('subject.caller', 'calls.day')).toBe(calls);
      for (const owner of ['subject.caller', 'subject.group']) {
        for (const bucket of ['tokens.minute', 'tokens.day']) {
          expect([owner, bucket, used(owner, bucket)]).toEqual([owner, bucket, expected(harness)]);
        }
      }
      for (const modelId of modelIds) {
        const records = harness.records.filter((record) => record.modelId === modelId);
        const ran = records.filter(({ outcome }) => outcome !== 'not_run');
        for (const [owner, end] of [
          [`model.${modelId}`, ''],
          ['subject.caller', `.${modelId}`],
        ] as const) {
          const counted = [used(owner, `calls.day${end}`), used(owner, `tokens.day${end}`)];
          expect([modelId, ...counted]).toEqual([modelId, ran.length, expected({ records })]);
        }
      }
    }),
    { numRuns: process.env.TEST_FORM === 'full' ? 1_000 : runsOf(150) },
  );
});

/** The tokens that were charged, and the reserved ones of images whose outcome is unknown. */
function expected({ records }: Pick<InProcessGateway, 'records'>): number {
  return records.reduce((sum, { protocol, outcome, chargeNanos }) => {
    if (protocol !== 'images') return sum + Number(chargeNanos);
    return outcome === 'unknown' ? sum + reservedTokens : sum;
  }, 0);
}

function requestOf({ kind, refusal, isRepeated }: Step, index: number): CallerRequest {
  const request = sampleRequests[kind];
  if (refusal === 'an invalid body') return { ...request, body: '{' };
  if (refusal === 'too large') {
    const members = { max_tokens: 2_000_000_000, generationConfig: { candidateCount: 99 } };
    return { ...request, body: { ...Object(request.body), ...members, n: 50_000_000 } };
  }
  return isRepeated ? keyed(request, `key-${index}`) : request;
}

/** Plays a call to its end, and then sends it again if it is a repeated one. */
async function play(
  { start, upstream }: InProcessGateway,
  { kind, ending, spareEnding, isRepeated }: Step,
  request: CallerRequest,
): Promise<number> {
  const plays = isRepeated ? 2 : 1;
  for (let count = 0; count < plays; count += 1) {
    const sent = upstream.calls.length;
    const calling = start(request);
    await turns();
    for (const [index, name] of [ending, spareEnding].entries()) {
      const up = upstream.calls[sent + index];
      if (up === undefined) break;
      endings[name](up, kind, calling.disconnect);
      await turns();
      // A call that was bought or may be repeated continues without its caller.
      if (name === 'a caller that leaves at once' && up.abortReason === undefined) {
        completeReply(kind)(up);
      }
      await turns();
    }
  }
  return plays;
}

/** A limiter that adds up what it grants, where time stands still. */
function countingLimiter(): {
  readonly limiter: RateLimiter;
  used(owner: string, bucket: string): number;
} {
  const correct = memoryRateLimiter({ clock: fakeClock() });
  const sums = new Map<string, number>();
  const add = (takes: readonly RateTake[]): void => {
    for (const { owner, bucket, amount } of takes) {
      const name = `${owner} ${bucket}`;
      const sum = (sums.get(name) ?? 0) + amount;
      if (sum < 0) throw new Error(`${name} got back more than it gave`);
      sums.set(name, sum);
    }
  };
  return {
    limiter: {
      take: (takes) => {
        const decision = correct.take(takes);
        if (decision.granted) add(takes);
        return decision;
      },
      adjust: (takes) => {
        correct.adjust(takes);
        add(takes);
      },
    },
    used: (owner, bucket) => sums.get(`${owner} ${bucket}`) ?? 0,
  };
}
