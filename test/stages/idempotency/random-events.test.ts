// suite: quick
/**
 * Random sequences of events: callers, replies, failures, disconnects, time, another gateway. A
 * call with a key runs at most once, is charged at most once, and has one reply.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import type { CallInProgress } from '../../support/gateway-in-process.ts';
import { completeReply, replies, sampleRequests } from '../../support/models.ts';
import { runsOf } from '../../support/sample.ts';
import { inTime, turns } from '../ports/failing.ts';
import { costs, keyed, keyedKinds, sharedStores } from './idempotent-calls.ts';

/** One event. Numbers pick among the existing gateways, callers or calls. */
type Step =
  | { readonly does: 'ask'; readonly gateway: number }
  | { readonly does: 'leave'; readonly caller: number }
  | { readonly does: 'answer' | 'refuse' | 'fail' | 'reset'; readonly call: number }
  | { readonly does: 'wait'; readonly ms: number };

const pick = fc.nat(9);
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ does: fc.constant('ask' as const), gateway: fc.nat(1) }) },
    { weight: 2, arbitrary: fc.record({ does: fc.constant('leave' as const), caller: pick }) },
    { weight: 2, arbitrary: fc.record({ does: fc.constant('refuse' as const), call: pick }) },
    {
      weight: 1,
      arbitrary: fc.record({
        does: fc.constantFrom('answer' as const, 'fail' as const, 'reset' as const),
        call: pick,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        does: fc.constant('wait' as const),
        ms: fc.constantFrom(250, 1_000, 20_000),
      }),
    },
  ),
  { minLength: 3, maxLength: 25 },
);

describe.each(keyedKinds)('%s under one key', (kind) => {
  it('runs at most once', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (story) => {
        const { clock, gateway, used } = sharedStores();
        const gateways = [gateway(), gateway()] as const;
        const callers: CallInProgress[] = [];
        const refused = new Set<DrivenCall>();
        const ended = new Set<DrivenCall>();
        const open = (): readonly DrivenCall[] =>
          gateways
            .flatMap(({ upstream }) => upstream.calls)
            .filter((call) => !ended.has(call) && call.abortReason === undefined);

        for (const step of story) {
          if (step.does === 'ask') {
            const { start } = gateways[step.gateway] ?? gateways[0];
            callers.push(start(keyed(sampleRequests[kind])));
          } else if (step.does === 'leave') callers[step.caller]?.disconnect();
          else if (step.does === 'wait') clock.advance(step.ms);
          else {
            const call = open()[step.call % Math.max(1, open().length)];
            if (call !== undefined) {
              ended.add(call);
              if (step.does === 'refuse') refused.add(call);
              end[step.does](call);
            }
          }
          await turns();
        }
        for (let rounds = 0; rounds < 30 && open().length > 0; rounds += 1) {
          for (const call of open()) {
            ended.add(call);
            end.answer(call);
          }
          await turns();
        }
        const answers = await inTime(clock, Promise.all(callers.map(({ reply }) => reply)));

        const ran = gateways
          .flatMap(({ upstream }) => upstream.calls)
          .filter((call) => !refused.has(call));
        expect(ran.length).toBeLessThanOrEqual(1);
        const texts = answers.filter(({ status }) => status === 200).map(({ text }) => text);
        for (const text of texts) expect(text).toBe(replies[kind]);
        const charged = (await used()) ?? 0n;
        expect(charged === 0n || charged === costs[kind]).toBe(true);
        if (texts.length > 0) expect(charged).toBe(costs[kind]);
      }),
      { numRuns: runsOf(60) },
    );
  });

  const end = {
    answer: completeReply(kind),
    refuse: (call: DrivenCall) => call.answer(429, { error: { message: 'Slow down.' } }),
    fail: (call: DrivenCall) => call.answer(500, {}),
    reset: (call: DrivenCall) => call.breakOff('reset'),
  };
});
