// suite: search
/**
 * Random histories of a gateway that records refusals: requests that are refused for all kinds of
 * reasons, a log that fails in every way, other options, and an end at any moment. What the log has
 * is what the events say, but for what an event says is lost; and no text of a caller is in it.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { GatewayEvent } from '../../../src/events/events.ts';
import { StoreUnavailable } from '../../../src/ports/call-options.ts';
import type { RecordedRefusals, RefusalLog } from '../../../src/ports/refusal-log.ts';
import { type CallerRequest, gatewayInProcess } from '../../support/gateway-in-process.ts';
import { chat, model, sampleRequests } from '../../support/models.ts';
import { inTime, pass, turns } from '../ports/failing.ts';

const canary = 'canary-of-a-private-text';
const requests: readonly CallerRequest[] = [
  { ...sampleRequests.chat, headers: { authorization: `Bearer ${canary}` } },
  chat({ model: canary }),
  chat({ model: 'forbidden' }),
  { ...sampleRequests.chat, body: `{ "model": "${canary}` },
  { ...sampleRequests.chat, headers: { 'content-type': `text/${canary}` } },
  { ...sampleRequests.chat, path: `/v1/${canary}` },
  { ...sampleRequests.chat, method: 'DELETE' },
];

/** How a log answers. Those that are unsure have written the counts, or do so later. */
const conducts = ['takes', 'takes later', 'throws', 'rejects', 'hangs', 'unsure', 'late'] as const;
type Conduct = (typeof conducts)[number];

interface TestedLog extends RefusalLog {
  readonly rows: Map<string, RecordedRefusals>;
  conduct: Conduct;
}

function testedLog(onUnsure: () => void): TestedLog {
  const rows = new Map<string, RecordedRefusals>();
  const add = (counts: readonly RecordedRefusals[]): void => {
    for (const count of counts) rows.set(count.id, rows.get(count.id) ?? count);
  };
  const log: TestedLog = {
    rows,
    conduct: 'takes',
    recordRefusals: (counts) => {
      const { conduct } = log;
      if (conduct === 'throws') throw new StoreUnavailable('down', { outcome: 'not_done' });
      if (conduct === 'rejects') return Promise.reject(new TypeError('down'));
      if (conduct === 'hangs') return new Promise(() => {});
      if (conduct === 'late') {
        onUnsure();
        return new Promise(() => void turns().then(() => add(counts)));
      }
      if (conduct === 'takes later') return Promise.resolve().then(() => add(counts));
      add(counts);
      if (conduct === 'takes') return undefined;
      onUnsure();
      return Promise.reject(new StoreUnavailable('no answer'));
    },
  };
  return log;
}

type Step =
  | { readonly kind: 'refuse'; readonly request: number; readonly times: number }
  | { readonly kind: 'pass'; readonly seconds: number }
  | { readonly kind: 'conduct'; readonly log: 0 | 1; readonly conduct: Conduct }
  | { readonly kind: 'use'; readonly log: 0 | 1 };

const whichLog = fc.constantFrom<0 | 1>(0, 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('refuse' as const),
      request: fc.nat(requests.length - 1),
      times: fc.integer({ min: 1, max: 8 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      seconds: fc.constantFrom(1, 7, 30, 61, 200, 1_000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('conduct' as const),
      log: whichLog,
      conduct: fc.constantFrom(...conducts),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('use' as const), log: whichLog }) },
);

type Refused = Extract<GatewayEvent, { readonly type: 'call_refused' }>;

/** What became of the refusals of a history. */
interface Outcome {
  readonly refused: readonly Refused[];
  /** How many were refused while each log was in use. */
  readonly refusedFor: readonly number[];
  readonly recordedIn: readonly (readonly RecordedRefusals[])[];
  readonly lost: number;
  /** The log may have what it did not confirm, so that it is both recorded and lost. */
  readonly isUnsure: boolean;
}

async function run(steps: readonly Step[], closing: readonly number[]): Promise<Outcome> {
  let isUnsure = false;
  const onUnsure = (): void => {
    isUnsure = true;
  };
  const logs = [testedLog(onUnsure), testedLog(onUnsure)] as const;
  const { call, gateway, clock, allEvents } = gatewayInProcess({
    models: [model(), model({ id: 'forbidden', groups: ['board'] })],
    options: { recordRefusals: logs[0] },
  });
  const refusedFor: [number, number] = [0, 0];
  let used: 0 | 1 = 0;
  const refuse = (request: number): Promise<unknown> => {
    refusedFor[used] += 1;
    return call(requests[request] ?? chat());
  };
  for (const one of steps) {
    if (one.kind === 'refuse') {
      await Promise.all(Array.from({ length: one.times }, () => refuse(one.request)));
    }
    if (one.kind === 'pass') await pass(clock, one.seconds * 1_000);
    if (one.kind === 'conduct') logs[one.log].conduct = one.conduct;
    if (one.kind === 'use') {
      used = one.log;
      gateway.update({ recordRefusals: logs[used] });
    }
  }
  const closed = gateway.close().then(() => allEvents.length);
  const last = closing.map(refuse);
  // A closed gateway counts nothing.
  const counted = allEvents.slice(0, await inTime(clock, closed));
  await Promise.all(last);
  // A write that hangs ends at its deadline.
  await pass(clock, 2_000);
  const eventsOf = <Type extends GatewayEvent['type']>(type: Type) =>
    counted.filter((event): event is Extract<GatewayEvent, { type: Type }> => event.type === type);
  const lost = eventsOf('refusals_lost').reduce((sum, { refusals }) => sum + refusals, 0);
  const recordedIn = logs.map(({ rows }) => [...rows.values()]);
  return { refused: eventsOf('call_refused'), refusedFor, recordedIn, lost, isUnsure };
}

const sumOf = (counts: readonly RecordedRefusals[]): number =>
  counts.reduce((sum, { refusals }) => sum + refusals, 0);
const kindOf = (one: Refused | RecordedRefusals): string =>
  JSON.stringify([one.keyId, one.group, one.protocol, one.modelId, one.code, one.reason]);

it('what is recorded and what is lost are the refusals of the events', async () => {
  const steps = fc.array(step, { minLength: 1, maxLength: 25, size: 'max' });
  const closing = fc.array(fc.nat(requests.length - 1), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(steps, closing, async (history, last) => {
      const { refused, refusedFor, recordedIn, lost, isUnsure } = await run(history, last);
      const recorded = recordedIn.flat();

      expect(sumOf(recorded)).toBeLessThanOrEqual(refused.length);
      expect(sumOf(recorded) + lost).toBeGreaterThanOrEqual(refused.length);
      if (!isUnsure) expect(sumOf(recorded) + lost).toBe(refused.length);
      for (const kind of new Set(recorded.map(kindOf))) {
        const counts = recorded.filter((count) => kindOf(count) === kind);
        const events = refused.filter((event) => kindOf(event) === kind);
        expect(sumOf(counts)).toBeLessThanOrEqual(events.length);
      }
      for (const [log, counts] of recordedIn.entries()) {
        expect(sumOf(counts)).toBeLessThanOrEqual(refusedFor[log] ?? 0);
      }
      expect(JSON.stringify(recorded)).not.toContain('canary');
    }),
    { numRuns: 150 },
  );
});

it('nothing is lost where the log takes everything', async () => {
  const steps = fc.array(step, { minLength: 1, maxLength: 25, size: 'max' });
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const calm = history.filter(({ kind }) => kind !== 'conduct');

      const { refused, refusedFor, recordedIn, lost } = await run(calm, []);

      expect(lost).toBe(0);
      expect(recordedIn.map(sumOf)).toEqual(refusedFor);
      expect(sumOf(recordedIn.flat())).toBe(refused.length);
    }),
    { numRuns: 50 },
  );
});
