/**
 * Random histories of a gateway: calls of every kind, refused, repeated, aborted, failing, with
 * stores that fail and a gateway that closes; and what must be true of each at its end.
 */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { GatewayEvent } from '../../src/events/events.ts';
import { found } from '../faults/canaries.ts';
import { inTime, pass, turns } from '../stages/ports/failing.ts';
import type { DrivenCall } from '../support/driven-upstream.ts';
import {
  type CallerRequest,
  callerSecret,
  gatewayInProcess,
  type InProcessGateway,
} from '../support/gateway-in-process.ts';
import { chat } from '../support/models.ts';
import {
  everyModel,
  headersFor,
  hidden,
  isStreamed,
  partsFor,
  type Route,
  replyFor,
  requestFor,
  routes,
} from './every-api.ts';

/** What an upstream does with one of its calls. */
const conducts = [
  'answer',
  'begin',
  'refuse',
  'fail',
  'limit',
  'reset',
  'talk_nonsense',
  'break_stream',
  'send_error',
] as const;
type Conduct = (typeof conducts)[number];

/** What happens to the stores, and to all upstreams at once. */
const troubles = ['break_stores', 'fix_stores', 'outage', 'outage_without_stores'] as const;

type Step =
  | { readonly does: 'ask'; readonly route: Route; readonly repeats: boolean }
  | { readonly does: 'ask_wrongly'; readonly index: number }
  | { readonly does: 'leave'; readonly index: number }
  | { readonly does: Conduct; readonly index: number }
  | { readonly does: (typeof troubles)[number] }
  | { readonly does: 'wait'; readonly ms: number };

const index = fc.nat(9);

/** So few that a history repeats one. */
const repeatedRoutes: readonly Route[] = [
  { kind: 'chat', dialect: 'openai' },
  { kind: 'images', dialect: 'gemini' },
];

/** Histories of up to this many steps. */
function histories(maxLength: number): fc.Arbitrary<readonly Step[]> {
  const ask = fc.record({
    does: fc.constant('ask' as const),
    route: fc.constantFrom(...routes),
    repeats: fc.constant(false),
  });
  const askAgain = fc.record({
    does: fc.constant('ask' as const),
    route: fc.constantFrom(...repeatedRoutes),
    repeats: fc.constant(true),
  });
  return fc.array(
    fc.oneof(
      { weight: 5, arbitrary: ask },
      { weight: 2, arbitrary: askAgain },
      { weight: 1, arbitrary: fc.record({ does: fc.constant('ask_wrongly' as const), index }) },
      { weight: 2, arbitrary: fc.record({ does: fc.constant('leave' as const), index }) },
      { weight: 6, arbitrary: fc.record({ does: fc.constantFrom(...conducts), index }) },
      {
        weight: 2,
        arbitrary: fc.record({
          does: fc.constantFrom(...troubles),
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
    { minLength: 4, maxLength },
  );
}

/** What a caller sends, beside the calls of {@link routes}: each is refused, at another stage. */
const refusedRequests: readonly CallerRequest[] = [
  { ...chat(), withoutKey: true },
  { path: '/v1/messages', body: '{"model":' },
  { ...chat(), headers: { 'content-type': 'text/plain' } },
  { path: '/v1/responses', body: { model: 'nobody', input: 'hi' } },
  { path: '/v1/embeddings', body: { model: 'content-openai', input: 'hi' } },
  { path: '/v1/files', body: {} },
];

/** A caller that waits for its answer, which may be cut. */
export interface Caller {
  readonly answered: Promise<unknown>;
  disconnect(): void;
}

/** How callers reach the gateway of a history. */
export type Entrance = (harness: InProcessGateway) => Promise<OpenEntrance>;

/** The entrance of one gateway. */
interface OpenEntrance {
  /** Sends a request; resolves once it has reached the gateway. */
  send(request: CallerRequest): Promise<Caller>;
  /** @throws Error if something was wrong with an answer */
  close(): Promise<void>;
}

/** Callers without a socket. */
export const inProcess: Entrance = async (harness) => ({
  send: async (request) => {
    const { reply, disconnect } = harness.start(request);
    await turns();
    return { answered: reply, disconnect };
  },
  close: async () => {},
});

/** A history as it runs. */
interface World {
  readonly harness: InProcessGateway;
  readonly entrance: OpenEntrance;
  readonly callers: Caller[];
  readonly begun: Set<DrivenCall>;
  readonly over: Set<DrivenCall>;
  areStoresDown: boolean;
}

async function world(entrance: Entrance): Promise<World> {
  const state: { current?: World } = {};
  const unlessDown = <Args extends readonly unknown[], Result>(
    operation: (...args: Args) => Result,
  ) => {
    return (...args: Args): Result => {
      if (state.current?.areStoresDown === true) throw new Error('down');
      return operation(...args);
    };
  };
  const byId = new Map(everyModel.map((one) => [one.id, one]));
  const harness = gatewayInProcess({
    models: everyModel,
    key: { quota: [{ id: 'caller', period: 'total', limitNanos: 1_000_000_000n }] },
    store: ({ reserve, settle, release, extend }) => ({
      reserve: unlessDown(reserve),
      settle: unlessDown(settle),
      release: unlessDown(release),
      extend: unlessDown(extend),
    }),
    options: {
      catalog: { find: unlessDown((id) => byId.get(id)), list: () => everyModel },
    },
  });
  // Else the first translated call would take more turns than the others.
  await harness.gateway.ready();
  // Another listener that fails must not take anything from the first.
  harness.gateway.subscribe(() => {
    throw new Error('a listener of the host');
  });
  const current: World = {
    harness,
    entrance: await entrance(harness),
    callers: [],
    begun: new Set(),
    over: new Set(),
    areStoresDown: false,
  };
  state.current = current;
  return current;
}

async function take(step: Step, at: World): Promise<void> {
  const { harness, callers, entrance } = at;
  switch (step.does) {
    case 'ask':
    case 'ask_wrongly':
      callers.push(await entrance.send(requestOf(step, callers.length)));
      break;
    case 'leave':
      callers[step.index % Math.max(1, callers.length)]?.disconnect();
      break;
    case 'break_stores':
    case 'fix_stores':
      at.areStoresDown = step.does === 'break_stores';
      break;
    case 'outage':
      await limitAll(at);
      break;
    case 'outage_without_stores':
      at.areStoresDown = true;
      await limitAll(at);
      at.areStoresDown = false;
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
async function limitAll(at: World): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    for (const call of openCalls(at)) {
      at.over.add(call);
      call.answer(429, {});
    }
    await turns();
  }
}

/** Requests have ids of their own; those that repeat share a key for each route. */
function requestOf(step: Step, number: number): CallerRequest {
  const id = { 'x-request-id': `request-${number}`, 'content-type': 'application/json' };
  if (step.does !== 'ask') {
    const at = step.does === 'ask_wrongly' ? step.index : 0;
    const wrong = refusedRequests[at % refusedRequests.length] ?? chat();
    return { ...wrong, headers: { ...id, ...wrong.headers } };
  }
  const { kind, dialect } = step.route;
  const repeated = step.repeats ? { 'idempotency-key': `one-${kind}-${dialect}` } : {};
  const request = requestFor(step.route);
  return { ...request, headers: { ...id, ...repeated, ...request.headers } };
}

function act(step: Step, at: World): void {
  const open = openCalls(at);
  const call = 'index' in step ? open[step.index % Math.max(1, open.length)] : undefined;
  if (call === undefined) return;
  if (step.does === 'begin') {
    if (isStreamed(call)) begin(call, at);
    return;
  }
  at.over.add(call);
  const events = { 'content-type': 'text/event-stream' };
  const leak = { message: `${Object.values(hidden).join(' ')}`, type: 'server_error', code: 429 };
  switch (step.does) {
    case 'refuse':
      return call.answer(400, { error: leak });
    case 'fail':
      return call.answer(500, { error: leak });
    case 'limit':
      return call.answer(429, {});
    case 'reset':
      return call.breakOff('reset');
    case 'talk_nonsense':
      return call.answer(200, `nonsense about ${hidden.prompt}`);
    case 'break_stream':
      return call.answer(200, 'data: {"id":"chatcm', events);
    case 'send_error':
      return call.answer(
        200,
        `data: ${JSON.stringify({ type: 'error', error: leak })}\n\n`,
        events,
      );
    default:
      return finish(call, at);
  }
}

/** Starts a stream, once. */
function begin(call: DrivenCall, { begun }: World): void {
  if (begun.has(call)) return;
  begun.add(call);
  call.respond(200, headersFor(call));
  call.write(partsFor(call)[0]);
}

function finish(call: DrivenCall, { begun }: World): void {
  if (!begun.has(call)) return call.answer(200, replyFor(call), headersFor(call));
  call.write(partsFor(call)[1]);
  call.end();
}

function openCalls({ harness, over }: World): readonly DrivenCall[] {
  return harness.upstream.calls.filter((one) => !over.has(one) && one.abortReason === undefined);
}

/** Ends what still runs: the stores are back, the upstream answers, and the gateway closes. */
async function endOf(at: World): Promise<void> {
  const { harness, callers, over } = at;
  at.areStoresDown = false;
  const ended = Promise.all(callers.map(({ answered }) => answered));
  for (let round = 0; round < 5; round += 1) {
    for (const call of openCalls(at)) {
      over.add(call);
      finish(call, at);
    }
    await turns();
  }
  await inTime(harness.clock, Promise.all([ended, harness.gateway.close({ drainMs: 1 })]));
  await pass(harness.clock, 30_000);
}

/** Runs this many histories, and returns the types of events that they met. */
export async function runMany(
  entrance: Entrance,
  { numRuns, maxLength }: { readonly numRuns: number; readonly maxLength: number },
): Promise<ReadonlySet<GatewayEvent['type']>> {
  const seen = new Set<GatewayEvent['type']>();
  await fc.assert(
    fc.asyncProperty(histories(maxLength), async (history) => {
      for (const { type } of await run(history, entrance)) seen.add(type);
    }),
    { numRuns },
  );
  return seen;
}

/** Every course that a call can take. */
export const courseTypes: readonly GatewayEvent['type'][] = [
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

/** Runs a history, checks what must be true at its end, and returns its events. */
async function run(history: readonly Step[], entrance: Entrance): Promise<readonly GatewayEvent[]> {
  const at = await world(entrance);
  for (const step of history) await take(step, at);
  await endOf(at);
  await at.entrance.close();

  const { harness, callers } = at;
  const events = harness.allEvents;
  expect(harness.laws.open()).toEqual([]);
  // Each request is one of three.
  const firsts = [
    ...ofType(events, 'call_refused'),
    ...ofType(events, 'call_repeated'),
    ...ofType(events, 'call_started'),
  ].map(({ requestId }) => requestId);
  expect(firsts.sort()).toEqual(callers.map((_, number) => `request-${number}`).sort());
  await checkMoney(harness);
  const secrets = { ...hidden, callerSecret };
  expect(found(secrets, { events, records: harness.records })).toEqual([]);
  expect(ofType(events, 'internal_error')).toEqual([]);
  return events;
}

/** The events have what the usage log has, and the store has charged it. */
async function checkMoney(harness: InProcessGateway): Promise<void> {
  const events = harness.allEvents;
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
}

function booked({ laws }: InProcessGateway): bigint {
  const records = laws.records().filter((one) => one.booked);
  return records.reduce((sum, { chargeNanos }) => sum + chargeNanos, 0n);
}

function ofType<Type extends GatewayEvent['type']>(events: readonly GatewayEvent[], type: Type) {
  return events.filter(
    (event): event is Extract<GatewayEvent, { readonly type: Type }> => event.type === type,
  );
}
