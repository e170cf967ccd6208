/**
 * Random calls of every kind, refused, repeated, aborted, failing, with stores that fail and a
 * gateway that closes: their events keep the laws, and agree with the records and the balances.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { GatewayEvent } from '../../src/events.ts';
import { inTime, pass, turns } from '../stages/failing.ts';
import type { DrivenCall } from '../support/driven-upstream.ts';
import {
  type CallerRequest,
  type CallInProgress,
  gatewayInProcess,
  type InProcessGateway,
} from '../support/gateway-in-process.ts';
import {
  channel,
  defaultModels,
  headersOf,
  type Kind,
  kinds,
  model,
  replies,
  sampleRequests,
  streamBeginnings,
} from '../support/models.ts';

/** What a caller sends, beside the sample requests: each is refused, at another stage. */
const refusedRequests: readonly CallerRequest[] = [
  { ...sampleRequests.chat, withoutKey: true },
  { ...sampleRequests.chat, body: '{"model":' },
  { ...sampleRequests.chat, headers: { 'content-type': 'text/plain' } },
  { path: '/v1/chat/completions', body: { model: 'nobody', messages: [] } },
  { path: '/v1/chat/completions', body: { model: 'foreign', messages: [] } },
  { path: '/v1/nothing', body: {} },
];

type Step =
  | { readonly does: 'ask'; readonly kind: Kind; readonly repeats: boolean }
  | { readonly does: 'ask_wrongly'; readonly index: number }
  | { readonly does: 'leave'; readonly index: number }
  | { readonly does: Conduct; readonly index: number }
  | { readonly does: 'break_store' | 'fix_store' | 'outage' }
  | { readonly does: 'wait'; readonly ms: number };

const conducts = ['answer', 'begin', 'refuse', 'fail', 'limit', 'reset', 'talk_nonsense'] as const;
type Conduct = (typeof conducts)[number];

const index = fc.nat(9);
const ask = fc.record({
  does: fc.constant('ask' as const),
  kind: fc.constantFrom(...kinds),
  repeats: fc.boolean(),
});
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: ask },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('ask_wrongly' as const), index }) },
    { weight: 2, arbitrary: fc.record({ does: fc.constant('leave' as const), index }) },
    { weight: 6, arbitrary: fc.record({ does: fc.constantFrom(...conducts), index }) },
    {
      weight: 1,
      arbitrary: fc.record({
        does: fc.constantFrom('break_store', 'fix_store', 'outage'),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        does: fc.constant('wait' as const),
        ms: fc.constantFrom(250, 3_000, 40_000, 700_000),
      }),
    },
  ),
  { minLength: 4, maxLength: 30 },
);

/** Two channels for each model, and a fallback for chat. */
const models = [
  ...defaultModels().map((one) => ({
    ...one,
    channels: [...one.channels, ...one.channels.map((own) => ({ ...own, id: `${own.id}-2` }))],
    ...(one.id === 'chat' ? { fallbacks: ['spare'] } : {}),
  })),
  model({ id: 'spare', channels: [channel({ id: 'spare' })] }),
];

/** The events, calls and balances of one story. */
interface World {
  readonly harness: InProcessGateway;
  readonly callers: CallInProgress[];
  readonly over: Set<DrivenCall>;
  isStoreDown: boolean;
}

function world(): World {
  const state: { current?: World } = {};
  const unlessDown = <Args extends readonly unknown[], Result>(
    operation: (...args: Args) => Result,
  ) => {
    return (...args: Args): Result => {
      if (state.current?.isStoreDown === true) throw new Error('down');
      return operation(...args);
    };
  };
  const harness = gatewayInProcess({
    models,
    store: ({ reserve, settle, release, extend }) => ({
      reserve: unlessDown(reserve),
      settle: unlessDown(settle),
      release: unlessDown(release),
      extend: unlessDown(extend),
    }),
  });
  // Another listener that fails must not take anything from the first.
  harness.gateway.subscribe(() => {
    throw new Error('a listener of the host');
  });
  const current: World = { harness, callers: [], over: new Set(), isStoreDown: false };
  state.current = current;
  return current;
}

async function take(step: Step, at: World): Promise<void> {
  const { harness, callers } = at;
  switch (step.does) {
    case 'ask':
    case 'ask_wrongly':
      callers.push(harness.start(requestOf(step, callers.length)));
      break;
    case 'leave':
      callers[step.index % Math.max(1, callers.length)]?.disconnect();
      break;
    case 'break_store':
    case 'fix_store':
      at.isStoreDown = step.does === 'break_store';
      break;
    case 'outage':
      await limitAll(at);
      break;
    case 'wait':
      await pass(harness.clock, step.ms);
      break;
    default:
      act(step, at);
  }
  await turns();
}

/** All accounts are at their limit, also those that are asked next. */
async function limitAll({ harness, over }: World): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    for (const call of openCalls(harness, over)) {
      over.add(call);
      call.answer(429, {});
    }
    await turns();
  }
}

/** Requests have ids of their own; those that repeat share a key for each kind. */
function requestOf(step: Step, number: number): CallerRequest {
  const id = { 'x-request-id': `request-${number}`, 'content-type': 'application/json' };
  if (step.does === 'ask_wrongly') {
    const wrong = refusedRequests[step.index % refusedRequests.length] ?? sampleRequests.chat;
    return { ...wrong, headers: { ...id, ...wrong.headers } };
  }
  const kind = step.does === 'ask' ? step.kind : 'chat';
  const repeats = step.does === 'ask' && step.repeats;
  const headers = repeats ? { ...id, 'idempotency-key': `one-${kind}` } : id;
  return { ...sampleRequests[kind], headers };
}

function act(step: Step, { harness, over }: World): void {
  const open = openCalls(harness, over);
  const call = 'index' in step ? open[step.index % Math.max(1, open.length)] : undefined;
  if (call === undefined) return;
  const kind = kindOf(call);
  if (step.does === 'begin' && (kind === 'chatStream' || kind === 'nativeStream')) {
    call.respond(200, headersOf(kind));
    call.write(streamBeginnings[kind]);
    return;
  }
  over.add(call);
  if (step.does === 'refuse') call.answer(400, { error: { message: 'no' } });
  else if (step.does === 'fail') call.answer(500, {});
  else if (step.does === 'limit') call.answer(429, {});
  else if (step.does === 'reset') call.breakOff('reset');
  else if (step.does === 'talk_nonsense') call.answer(200, 'nonsense');
  else call.answer(200, replies[kind], headersOf(kind));
}

function openCalls({ upstream }: InProcessGateway, over: Set<DrivenCall>): readonly DrivenCall[] {
  return upstream.calls.filter((one) => !over.has(one) && one.abortReason === undefined);
}

function kindOf({ request: { path, body } }: DrivenCall): Kind {
  const isStream = path.includes('stream') || Buffer.concat([...body]).includes('"stream":true');
  if (path.includes('images')) return 'image';
  if (path.includes('Content')) return isStream ? 'nativeStream' : 'native';
  return isStream ? 'chatStream' : 'chat';
}

function ofType<Type extends GatewayEvent['type']>(events: readonly GatewayEvent[], type: Type) {
  return events.filter(
    (event): event is Extract<GatewayEvent, { readonly type: Type }> => event.type === type,
  );
}

/** Ends what still runs: the store is back, the upstream answers, and the gateway closes. */
async function endOf(at: World): Promise<void> {
  const { harness, callers, over } = at;
  at.isStoreDown = false;
  const ended = Promise.all(callers.map(({ reply }) => reply));
  for (let round = 0; round < 5; round += 1) {
    for (const call of openCalls(harness, over)) {
      over.add(call);
      call.answer(200, replies[kindOf(call)], headersOf(kindOf(call)));
    }
    await turns();
  }
  await inTime(harness.clock, Promise.all([ended, harness.gateway.close({ drainMs: 1 })]));
  await pass(harness.clock, 30_000);
}

it('keep the laws, and agree with what was recorded and charged', async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(steps, async (story) => {
      const at = world();
      for (const step of story) await take(step, at);
      await endOf(at);

      const { harness, callers } = at;
      const events = harness.allEvents;
      for (const { type } of events) seen.set(type, (seen.get(type) ?? 0) + 1);
      expect(harness.laws.open()).toEqual([]);
      // Each request is one of three.
      const firsts = [
        ...ofType(events, 'call_refused'),
        ...ofType(events, 'call_repeated'),
        ...ofType(events, 'call_started'),
      ].map(({ requestId }) => requestId);
      expect(firsts.sort()).toEqual(callers.map((_, number) => `request-${number}`).sort());
      // The events have what the usage log has, and the store has charged it.
      const reported = [...ofType(events, 'call_ended'), ...ofType(events, 'call_booked')];
      const recordOf = (id: string, revision: number) =>
        harness.records.find((one) => one.reservationId === id && one.revision === revision);
      expect(harness.records).toHaveLength(reported.length);
      for (const { record } of reported) {
        expect(recordOf(record.reservationId, record.revision)).toEqual(record);
      }
      const lost = ofType(events, 'settlement_lost').length;
      const { used, inFlight } = await harness.state();
      expect({ lost, used, inFlight }).toEqual({ lost: 0, used: booked(harness), inFlight: 0 });
      expect(ofType(events, 'internal_error')).toEqual([]);
    }),
    { numRuns: process.env.TEST_FORM === 'full' ? 2_000 : 150, seed: 18 },
  );

  // The stories meet every course that a call can take.
  expect(courseTypes.filter((type) => !seen.has(type))).toEqual([]);
});

function booked({ laws }: InProcessGateway): bigint {
  const records = laws.records().filter((one) => one.booked);
  return records.reduce((sum, { chargeNanos }) => sum + chargeNanos, 0n);
}

const courseTypes: readonly GatewayEvent['type'][] = [
  'call_refused',
  'call_repeated',
  'call_started',
  'attempt_started',
  'first_byte',
  'attempt_ended',
  'call_ended',
  'call_booked',
  'model_fallback',
  'no_channel',
];
