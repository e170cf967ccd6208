/**
 * A gateway in process: memory stores, a fake clock, counted ids and a driven upstream, with
 * callers that may disconnect at any time.
 */

import { Writable } from 'node:stream';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { dialects } from '../../src/dialects/table.ts';
import type { GatewayEvent } from '../../src/events/events.ts';
import { type Gateway, gatewayOver, type Tables } from '../../src/gateway.ts';
import type { GatewayOptions } from '../../src/gateway-options.ts';
import type { GatewayResponse } from '../../src/http.ts';
import type { ApiKey } from '../../src/ports/keys/key-store.ts';
import { defaultPartition } from '../../src/ports/limits/quota-input.ts';
import type { QuotaState, QuotaStore } from '../../src/ports/limits/quota-store.ts';
import type { ListedModel } from '../../src/ports/models/listed-model.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { protocols } from '../../src/protocols/table.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { countedIds } from './counted-ids.ts';
import { type CallHandler, type DrivenUpstream, drivenUpstream } from './driven-upstream.ts';
import { type AnswerLaws, answerLaws, haveKnownErrors } from './laws/answer-laws.ts';
import { checkEvent, isNotable } from './laws/event-checks.ts';
import { type EventLaws, eventLaws } from './laws/event-laws.ts';
import { defaultModels } from './models.ts';
import { recordLog } from './record-log.ts';
import {
  type Count,
  countedClock,
  leftIn,
  notedHolds,
  type WatchedGateway,
  watchGateway,
} from './runner/leftovers.ts';
// Loaded here, so that the first translated call of a file takes no longer than the others.
import '../../src/stages/prepare/call-translator.ts';
import './codecs.ts';

/** What differs from the default gateway. */
export interface GatewaySetup {
  /** They handle the first upstream calls, one each; later calls wait for the test. */
  readonly handlers?: readonly CallHandler[];
  readonly models?: readonly ListedModel[];
  readonly key?: Partial<ApiKey>;
  readonly options?: Partial<GatewayOptions>;
  /** The start of the clock in Unix ms; 1 January 2026 by default. */
  readonly startMs?: number;
  /** Replaces operations of the quota store; `state` still reads the original store. */
  readonly store?: (quota: QuotaStore) => Partial<QuotaStore>;
  /** Other tables, for tests that add a protocol or a dialect. */
  readonly tables?: Partial<Tables>;
  /** Why the store still holds something when the test ends, which would fail any other test. */
  readonly leavesHolds?: string;
  /**
   * The test runs at the same time as others of its file, so that nobody knows at the end of a test
   * whose gateway this is: it checks {@link InProcessGateway.left} itself.
   */
  readonly runsBesideOthers?: true;
}

/** A request of a caller. */
export interface CallerRequest {
  readonly method?: string;
  readonly path: string;
  readonly search?: string;
  /** Bytes or text as they are sent; anything else is sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends no key, which every other request sends in all headers that may carry one. */
  readonly withoutKey?: true;
}

/** A response as its caller sees it. */
export interface CallerReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly text: string;
  /** What was written to the socket, one for each turn of the event loop. */
  readonly writes: readonly Buffer[];
  /** True if the connection was cut: the reply did not end. */
  readonly isCut: boolean;
}

/** A caller that waits for its response. */
export interface CallInProgress {
  readonly reply: Promise<CallerReply>;
  /** Resolves with what has arrived, at the first byte of a streamed reply. */
  readonly firstBytes: Promise<string>;
  disconnect(): void;
}

/** A gateway with its ports and its callers. */
export interface InProcessGateway {
  readonly gateway: Gateway;
  readonly clock: FakeClock;
  readonly upstream: DrivenUpstream;
  readonly quota: QuotaStore;
  /** The events so far, without those of every call's regular course. */
  readonly events: readonly GatewayEvent[];
  readonly allEvents: readonly GatewayEvent[];
  /** Each event is checked as it arrives; one that breaks a law fails the file. */
  readonly laws: EventLaws;
  readonly records: readonly UsageRecord[];
  /**
   * The next record of the usage log; each is returned once. Waits for one that has not been
   * written yet.
   */
  nextRecord(): Promise<UsageRecord>;
  start(request: CallerRequest): CallInProgress;
  call(request: CallerRequest): Promise<CallerReply>;
  /** The quota state of a subject; the caller's own by default. */
  state(subject?: string, period?: string): Promise<Balance>;
  /** Resolves once that many calls have ended. */
  ended(calls: number): Promise<void>;
  /** The types of the events so far, without those of every call's regular course. */
  eventTypes(): readonly string[];
  /** Ends its upstream calls and its callers, and returns what it has not given back. */
  left(): Promise<readonly Count[]>;
}

/** The amounts of a quota, and how many calls hold some of it. */
export type Balance = Pick<QuotaState, 'held' | 'used' | 'inFlight'>;

/** The secret of the only key. */
export const callerSecret = 'caller-secret';
/** The quota of the key, in nanos. */
export const ampleNanos = 1_000_000n;

/** Creates the gateway. Nothing must be closed, because neither timers nor sockets are real. */
export function gatewayInProcess(setup: GatewaySetup = {}): InProcessGateway {
  const {
    handlers = [],
    models = defaultModels(),
    key,
    options,
    store = () => ({}),
    startMs,
    tables,
    leavesHolds,
    runsBesideOthers,
  } = setup;
  const clock = fakeClock(startMs);
  const upstream = drivenUpstream(...handlers);
  const { clock: countingClock, timers } = countedClock(clock);
  const holds = notedHolds(memoryQuotaStore({ clock }));
  const { quota } = holds;
  const answers = answerLaws({
    knowsUpstream: options?.upstream === undefined,
    knowsErrors: haveKnownErrors(tables?.protocols ?? protocols),
  });
  const events = eventLog(answers);
  const log = recordLog();
  const ownKey: ApiKey = {
    id: 'caller',
    group: 'staff',
    disabled: false,
    quota: [{ id: 'caller', period: 'total', limitNanos: ampleNanos }],
    ...key,
  };
  const gateway = gatewayOver(
    { dialects, protocols, ...tables },
    {
      keys: { find: (secret) => (secret === callerSecret ? ownKey : undefined) },
      quota: { ...quota, ...store(quota) },
      catalog: staticCatalog(models),
      usage: { record: log.add, close: async () => {} },
      upstream: {
        send: (request) => {
          const sent = upstream.send(request);
          const call = upstream.calls.at(-1);
          answers.sent(() => call?.status);
          return sent;
        },
        close: upstream.close,
      },
      clock: countingClock,
      ids: countedIds(),
      random: () => 0,
      onEvent: events.add,
      ...options,
    },
  );
  const started: CallInProgress[] = [];
  const start = (request: CallerRequest): CallInProgress => {
    const call = startCall(gateway, request, answers);
    started.push(call);
    return call;
  };
  const watched: WatchedGateway = {
    gateway,
    others: () => [
      // The gateway's own timer runs until it is closed.
      ['timers', Math.max(0, timers() - (gateway.status().isClosing ? 0 : 1))],
      ...(leavesHolds === undefined ? holds.left() : []),
    ],
    abandon: () => {
      for (const call of upstream.calls) call.breakOff('reset');
      for (const call of started) call.disconnect();
    },
  };
  if (runsBesideOthers === undefined) watchGateway(watched);
  return {
    gateway,
    clock,
    upstream,
    quota,
    events: events.notable,
    allEvents: events.all,
    laws: events.laws,
    records: log.records,
    nextRecord: log.next,
    start,
    call: (request) => start(request).reply,
    state: async (subject = 'caller', period = '') => {
      const row = await quota.read(subject, period, defaultPartition);
      return { held: row?.held ?? 0n, used: row?.used ?? 0n, inFlight: row?.inFlight ?? 0 };
    },
    ended: events.ended,
    eventTypes: () => events.notable.map(({ type }) => type),
    left: () => leftIn(watched),
  };
}

/** The state in which nothing is held or charged. */
export const untouched = { held: 0n, used: 0n, inFlight: 0 } as const;

function startCall(gateway: Gateway, request: CallerRequest, answers: AnswerLaws): CallInProgress {
  const listeners: (() => void)[] = [];
  const writes: Buffer[] = [];
  let onFirstWrite: (text: string) => void = () => {};
  let hasDisconnected = false;
  const firstBytes = new Promise<string>((resolve) => {
    onFirstWrite = resolve;
  });
  const socket = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      writes.push(chunk);
      if (writes.length === 1) onFirstWrite(chunk.toString());
      done();
    },
  });
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });

  const receive = async ({ status, headers, body }: GatewayResponse): Promise<CallerReply> => {
    const isStream = !(body instanceof Uint8Array);
    if (isStream) {
      body.sendTo(socket);
      await closed;
    } else writes.push(Buffer.from(body));
    const bytes = Buffer.concat(writes);
    const isCut = isStream && !socket.writableFinished;
    const text = bytes.toString();
    const requestId = headers['x-request-id'];
    answers.answered({ requestId, status, text, isCut, hasDisconnected });
    return { status, headers, bytes, text, writes, isCut };
  };
  return {
    reply: gateway.handle(requestOf(request, listeners)).then(receive),
    firstBytes,
    disconnect: () => {
      hasDisconnected = true;
      for (const listener of listeners) listener();
      socket.destroy();
    },
  };
}

/** The request that an adapter would make. Calling the listeners closes its connection. */
export function requestOf(
  { method = 'POST', path, search = '', body, headers = {}, withoutKey }: CallerRequest,
  listeners: (() => void)[],
): Parameters<Gateway['handle']>[0] {
  const keys = { authorization: `Bearer ${callerSecret}`, 'x-vendor-api-key': callerSecret };
  const sent = withoutKey === true ? headers : { ...keys, ...headers };
  return {
    method,
    path,
    search,
    headers: sent,
    rawHeaders: Object.entries(sent).flat(),
    body: bytesOf(body),
    onClose: (listener) => listeners.push(listener),
  };
}

/** The bytes of a body: as given, or an object as JSON. */
export function bytesOf(body: unknown): Buffer {
  if (body instanceof Uint8Array) return Buffer.from(body);
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? {}));
}

interface EventLog {
  readonly all: readonly GatewayEvent[];
  readonly notable: readonly GatewayEvent[];
  readonly laws: EventLaws;
  add(event: GatewayEvent): void;
  ended(calls: number): Promise<void>;
}

function eventLog(answers: AnswerLaws): EventLog {
  const all: GatewayEvent[] = [];
  const notable: GatewayEvent[] = [];
  const laws = eventLaws();
  let onEvent: () => void = () => {};
  const isOver = (calls: number): boolean =>
    all.filter(({ type }) => type === 'call_ended').length >= calls;
  return {
    all,
    notable,
    laws,
    add: (event) => {
      unswallowed(() => {
        checkEvent(event);
        laws.see(event);
        answers.see(event);
      });
      all.push(event);
      if (isNotable(event)) notable.push(event);
      onEvent();
    },
    ended: async (calls) => {
      while (!isOver(calls)) {
        await new Promise<void>((resolve) => {
          onEvent = resolve;
        });
      }
    },
  };
}

/** A gateway swallows what its listener throws, so that a check throws outside of it. */
function unswallowed(check: () => void): void {
  try {
    check();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
