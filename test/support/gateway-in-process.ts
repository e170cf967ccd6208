/**
 * A gateway with memory stores, a fake clock, counted ids and a driven upstream, and callers in the
 * same process that may disconnect at any time.
 */
import { Writable } from 'node:stream';
import type { GatewayEvent } from '../../src/events.ts';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import type { GatewayResponse } from '../../src/http.ts';
import type { GatewayOptions } from '../../src/options.ts';
import type { Model } from '../../src/ports/catalog.ts';
import type { ApiKey } from '../../src/ports/key-store.ts';
import { defaultPartition } from '../../src/ports/quota-input.ts';
import type { QuotaState, QuotaStore } from '../../src/ports/quota-store.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { staticCatalog } from '../../src/stores/memory/catalog.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { countedIds } from './counted-ids.ts';
import { type CallHandler, type DrivenUpstream, drivenUpstream } from './driven-upstream.ts';
import { defaultModels } from './models.ts';

/** What differs from the default gateway. */
export interface GatewaySetup {
  readonly handlers?: readonly CallHandler[];
  readonly models?: readonly Model[];
  readonly key?: Partial<ApiKey>;
  readonly options?: Partial<GatewayOptions>;
  /** The start of the clock in Unix ms; 1 January 2026 by default. */
  readonly startMs?: number;
  /** Replaces operations of the quota store; `state` still reads the original store. */
  readonly store?: (quota: QuotaStore) => Partial<QuotaStore>;
}

/** A request of a caller. */
export interface CallerRequest {
  readonly method?: string;
  readonly path: string;
  readonly search?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A response as its caller sees it. */
export interface CallerReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
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
  readonly events: readonly GatewayEvent[];
  readonly records: readonly UsageRecord[];
  /**
   * The next record of the usage log; each is returned once. Waits for one that has not been
   * written yet.
   */
  nextRecord(): Promise<UsageRecord>;
  start(asked: CallerRequest): CallInProgress;
  call(asked: CallerRequest): Promise<CallerReply>;
  /** The quota state of a subject; the caller's own by default. */
  state(subject?: string, period?: string): Promise<Pick<QuotaState, 'held' | 'used' | 'inFlight'>>;
  /** The types of the events so far. */
  eventTypes(): readonly string[];
}

/** The secret of the only key. */
const secret = 'caller-secret';
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
  } = setup;
  const clock = fakeClock(startMs);
  const upstream = drivenUpstream(...handlers);
  const quota = memoryQuotaStore({ clock });
  const events: GatewayEvent[] = [];
  const log = recordLog();
  const ownKey: ApiKey = {
    id: 'caller',
    group: 'staff',
    disabled: false,
    quota: [{ id: 'caller', period: 'total', limitNanos: ampleNanos }],
    ...key,
  };
  const gateway = createGateway({
    keys: { find: (sent) => (sent === secret ? ownKey : undefined) },
    quota: { ...quota, ...store(quota) },
    catalog: staticCatalog(models),
    usage: { record: log.take, close: async () => {} },
    upstream,
    clock,
    ids: countedIds(),
    random: () => 0,
    onEvent: (event) => events.push(event),
    ...options,
  });
  return {
    gateway,
    clock,
    upstream,
    quota,
    events,
    records: log.records,
    nextRecord: log.next,
    start: (asked) => startCall(gateway, asked),
    call: (asked) => startCall(gateway, asked).reply,
    state: async (subject = 'caller', period = '') => {
      const row = await quota.read(subject, period, defaultPartition);
      return { held: row?.held ?? 0n, used: row?.used ?? 0n, inFlight: row?.inFlight ?? 0 };
    },
    eventTypes: () => events.map(({ type }) => type),
  };
}

/** The state in which nothing is held or charged. */
export const untouched = { held: 0n, used: 0n, inFlight: 0 } as const;

function startCall(gateway: Gateway, asked: CallerRequest): CallInProgress {
  const listeners: (() => void)[] = [];
  const written: Buffer[] = [];
  let tellBegun: (text: string) => void = () => {};
  const firstBytes = new Promise<string>((resolve) => {
    tellBegun = resolve;
  });
  const socket = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written.push(chunk);
      tellBegun(Buffer.concat(written).toString());
      done();
    },
  });
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  const text = (): string => Buffer.concat(written).toString();

  const received = async ({ status, headers, body }: GatewayResponse): Promise<CallerReply> => {
    if (body instanceof Uint8Array) {
      return { status, headers, text: Buffer.from(body).toString(), isCut: false };
    }
    body.sendTo(socket);
    await closed;
    return { status, headers, text: text(), isCut: !socket.writableFinished };
  };
  return {
    reply: gateway.handle(requestOf(asked, listeners)).then(received),
    firstBytes,
    disconnect: () => {
      for (const listener of listeners) listener();
      socket.destroy();
    },
  };
}

/** The request that an adapter would make. Calling the listeners closes its connection. */
export function requestOf(
  { method = 'POST', path, search = '', body, headers = {} }: CallerRequest,
  listeners: (() => void)[],
): Parameters<Gateway['handle']>[0] {
  const sent = { authorization: `Bearer ${secret}`, 'x-vendor-api-key': secret, ...headers };
  return {
    method,
    path,
    search,
    headers: sent,
    rawHeaders: Object.entries(sent).flat(),
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? {})),
    onClose: (listener) => listeners.push(listener),
  };
}

interface RecordLog {
  readonly records: readonly UsageRecord[];
  take(record: UsageRecord): void;
  next(): Promise<UsageRecord>;
}

function recordLog(): RecordLog {
  const records: UsageRecord[] = [];
  const untaken: UsageRecord[] = [];
  const waiters: ((record: UsageRecord) => void)[] = [];
  return {
    records,
    take: (record) => {
      records.push(record);
      const waiter = waiters.shift();
      if (waiter === undefined) untaken.push(record);
      else waiter(record);
    },
    next: () => {
      const record = untaken.shift();
      if (record !== undefined) return Promise.resolve(record);
      return new Promise((resolve) => {
        waiters.push(resolve);
      });
    },
  };
}
