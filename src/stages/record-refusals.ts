/**
 * Records refusals: counts them minute by minute in bounded memory, and writes the counts of each
 * minute that is over to the host's log. No request waits for that, and a log that is down costs
 * little memory.
 */

import { isErrorCode } from '../errors.ts';
import type { EventListener, GatewayEvent } from '../events/events.ts';
import { isFailureReason } from '../failure-reasons.ts';
import type { Settings } from '../options.ts';
import { otherRefusals, type RecordedRefusals, type RefusalLog } from '../ports/refusal-log.ts';
import { isAnything } from './ports/port-answers.ts';
import type { PortCalls } from './ports/port-calls.ts';
import { newId } from './respond.ts';

/** Records the refusals of one gateway, while its option `recordRefusals` has a log. */
export interface RefusalRecorder {
  /** Counts a refusal. Never throws. */
  count(kind: RefusalKind): void;
  /** Called by the gateway's timer: writes the minutes that are over. Never rejects. */
  tick(): Promise<void>;
  /** Tries once to write everything, at shutdown. Never rejects. */
  flush(): Promise<void>;
  /** Reports to the host what is not written, as events. From here on nothing is counted. */
  abandon(): void;
}

/** Counts that are written together, to the log that was set when they were counted. */
interface Batch {
  readonly log: RefusalLog;
  readonly counts: readonly RecordedRefusals[];
  readonly sinceMs: number;
}

interface Minute {
  readonly atMs: number;
  readonly log: RefusalLog;
  readonly counts: RefusalCounts;
}

interface RecorderState {
  readonly settings: () => Settings;
  readonly ports: PortCalls;
  readonly emit: EventListener;
  minute: Minute | undefined;
  /** The batch that is tried next comes first. */
  waiting: readonly Batch[];
  writing: Promise<void> | undefined;
  dueMs: number;
  waitMs: number;
  isAbandoned: boolean;
}

const minuteMs = 60_000;
const batchSize = 500;
/** A write that failed is repeated after 1 s, 2 s, …, 1 min, and given up after this long. */
const maxAgeMs = 15 * minuteMs;
const minWaitMs = 1_000;
const maxWaitMs = minuteMs;

export function refusalRecorder(
  settings: () => Settings,
  ports: PortCalls,
  emit: EventListener,
): RefusalRecorder {
  const state: RecorderState = {
    settings,
    ports,
    emit,
    minute: undefined,
    waiting: [],
    writing: undefined,
    dueMs: 0,
    waitMs: minWaitMs,
    isAbandoned: false,
  };
  const bounded = boundedDetails();
  return {
    count: (kind) => {
      const { recordRefusals: log, clock } = settings();
      if (log === undefined || state.isAbandoned) return;
      minuteFor(state, log).counts.add(bounded(kind, clock.now()));
    },
    tick: () => tick(state),
    flush: () => flush(state),
    abandon: () => {
      endMinute(state);
      state.isAbandoned = true;
      for (const batch of state.waiting) reportLost(batch, emit);
      state.waiting = [];
    },
  };
}

async function tick(state: RecorderState): Promise<void> {
  const { clock } = state.settings();
  if (state.minute !== undefined && state.minute.atMs !== minuteOf(clock.now())) endMinute(state);
  const isDue = clock.monotonicMs() >= state.dueMs;
  if (state.waiting.length === 0 || state.writing !== undefined || !isDue) return;
  state.writing = writeWaiting(state);
  await state.writing;
  state.writing = undefined;
  dropOld(state);
}

function minuteOf(nowMs: number): number {
  return nowMs - (nowMs % minuteMs);
}

/** The counts of the current minute. Those for another log, or of another minute, are ended. */
function minuteFor(state: RecorderState, log: RefusalLog): Minute {
  const atMs = minuteOf(state.settings().clock.now());
  const { minute } = state;
  if (minute?.atMs === atMs && minute.log === log) return minute;
  endMinute(state);
  const next = { atMs, log, counts: refusalCounts() };
  state.minute = next;
  return next;
}

function endMinute(state: RecorderState): void {
  const { minute, settings } = state;
  if (minute === undefined) return;
  const { atMs, log } = minute;
  const { ids, clock } = settings();
  const id = newId(ids);
  const counts = minute.counts
    .read()
    .map((count, index) => ({ id: `${id}.${index}`, atMs, ...count }));
  const sinceMs = clock.monotonicMs();
  const batches: Batch[] = [];
  for (let start = 0; start < counts.length; start += batchSize) {
    batches.push({ log, counts: counts.slice(start, start + batchSize), sinceMs });
  }
  state.waiting = [...state.waiting, ...batches];
  state.minute = undefined;
}

/** Writes what waits, until a write fails: its batch goes to the end, and the rest is due later. */
async function writeWaiting(state: RecorderState): Promise<void> {
  for (let batch = state.waiting[0]; batch !== undefined; batch = state.waiting[0]) {
    if (await deliver(state, batch)) {
      state.waitMs = minWaitMs;
      continue;
    }
    // It is no longer there if it was abandoned meanwhile.
    const [tried, ...others] = state.waiting;
    state.waiting = tried === undefined ? [] : [...others, tried];
    state.dueMs = state.settings().clock.monotonicMs() + state.waitMs;
    state.waitMs = Math.min(state.waitMs * 2, maxWaitMs);
    return;
  }
}

/** Tries each batch once, those of refusals in the meantime too. */
async function flush(state: RecorderState): Promise<void> {
  await state.writing;
  const tried = new Set<Batch>();
  for (;;) {
    endMinute(state);
    const batch = state.waiting.find((one) => !tried.has(one));
    if (batch === undefined) return;
    tried.add(batch);
    await deliver(state, batch);
  }
}

async function deliver(state: RecorderState, batch: Batch): Promise<boolean> {
  const isWritten = await tryBatch(state, batch);
  if (isWritten) state.waiting = state.waiting.filter((other) => other !== batch);
  return isWritten;
}

/** True if the log has taken it. `ports.ask` reports what the log throws. */
async function tryBatch({ ports }: RecorderState, { log, counts }: Batch): Promise<boolean> {
  try {
    await ports.ask('refusals', 'recordRefusals', isAnything, (options) =>
      log.recordRefusals(counts, options),
    );
    return true;
  } catch {
    return false;
  }
}

function dropOld(state: RecorderState): void {
  const oldestMs = state.settings().clock.monotonicMs() - maxAgeMs;
  const isOld = ({ sinceMs }: Batch): boolean => sinceMs < oldestMs;
  for (const batch of state.waiting.filter(isOld)) reportLost(batch, state.emit);
  state.waiting = state.waiting.filter((batch) => !isOld(batch));
}

function reportLost({ counts }: Batch, emit: EventListener): void {
  const refusals = counts.reduce((sum, count) => sum + count.refusals, 0);
  const atMs = counts[0]?.atMs ?? 0;
  emit({ type: 'refusals_lost', atMs, refusals });
}

type RefusalEvent = Extract<GatewayEvent, { readonly type: 'call_refused' }>;

type CountedMembers = 'keyId' | 'group' | 'protocol' | 'modelId' | 'code' | 'reason';

export interface RefusalKind
  extends Pick<RefusalEvent, CountedMembers>,
    Pick<RecordedRefusals, 'detail'> {}

interface RefusalCounts {
  add(kind: RefusalKind): void;
  read(): readonly Omit<RecordedRefusals, 'id' | 'atMs'>[];
}

/** How many counts have a key, group and model of their own. A thousand take about 300 KB. */
const maxDetailed = 1_000;
/** How many models and details one key may name, so that it leaves room for the others. */
const maxOfKey = 100;

export function refusalCounts(): RefusalCounts {
  const detailed = new Map<string, Count>();
  const ofKeys = new Map<string | undefined, number>();
  // At most one for each protocol, code and reason, of which the gateway has a fixed number, and as
  // many for each of the ten keys that can reach their share.
  const others = new Map<string, Count>();
  return {
    add: (kind) => {
      const named = storable(kind);
      const name = nameOf(named);
      if (detailed.has(name)) return increment(detailed, name, named);
      const { keyId, group } = named;
      const used = ofKeys.get(keyId) ?? 0;
      const isAtShare = used >= maxOfKey;
      if (!isAtShare && detailed.size < maxDetailed) {
        ofKeys.set(keyId, used + 1);
        return increment(detailed, name, named);
      }
      const other = { ...withoutNames(named), ...(isAtShare ? { keyId, group } : {}) };
      increment(others, nameOf(other), other);
    },
    read: () =>
      [...detailed.values(), ...others.values()].map(({ kind, refusals }) => ({
        ...kind,
        refusals,
      })),
  };
}

interface Count {
  readonly kind: RefusalKind;
  refusals: number;
}

function increment(counts: Map<string, Count>, name: string, kind: RefusalKind): void {
  const known = counts.get(name);
  if (known === undefined) counts.set(name, { kind, refusals: 1 });
  else known.refusals += 1;
}

function nameOf(kind: RefusalKind): string {
  const { keyId, group, protocol, modelId, code, reason, detail } = kind;
  return JSON.stringify([keyId, group, protocol, modelId, code, reason, detail]);
}

function withoutNames({ keyId, group, protocol, modelId, code, reason }: RefusalKind): RefusalKind {
  const other = (name: string | undefined) => (name === undefined ? undefined : otherRefusals);
  return {
    keyId: other(keyId),
    group: other(group),
    protocol,
    modelId: other(modelId),
    code,
    reason,
    detail: undefined,
  };
}

/** Keys, groups and models are named by the host's records, and databases refuse some texts. */
const storableName = /^[^\p{Cc}\p{Cs}]{0,256}$/u;

function storable(kind: RefusalKind): RefusalKind {
  const { keyId, group, protocol, modelId, code, reason, detail } = kind;
  return {
    keyId: storableText(keyId),
    group: storableText(group),
    protocol,
    modelId: storableText(modelId),
    // An error of a host that looks like ours may have any code and reason.
    code: isErrorCode(code) ? code : 'internal_error',
    reason: isFailureReason(reason) ? reason : undefined,
    detail,
  };
}

function storableText(name: string | undefined): string | undefined {
  return name === undefined || storableName.test(name) ? name : otherRefusals;
}

/** How many members one key may bring into the log in a day for one code. */
const maxDetails = 16;
/** For how many keys and codes members are remembered. The names take up to 2 MB. */
const maxDetailedKinds = 1_000;
const dayMs = 86_400_000;

const hasOwnDetails: ReadonlySet<string> = new Set([
  ...['route_not_found', 'rate_limited', 'overloaded'],
]);

/**
 * Leaves out members beyond a number for each key, code and UTC day, because callers may choose
 * their names: a database would otherwise get a row for each. Paths and limits have names of ours.
 */
export function boundedDetails(): (kind: RefusalKind, nowMs: number) => RefusalKind {
  let day = 0;
  let known = new Map<string, Set<string>>();
  return (kind, nowMs) => {
    const { keyId, code, detail } = kind;
    if (detail === undefined || hasOwnDetails.has(code)) return kind;
    const today = Math.floor(nowMs / dayMs);
    if (today !== day) [day, known] = [today, new Map()];
    const name = JSON.stringify([keyId, code]);
    const details = known.get(name) ?? new Set();
    const isFull =
      details.size >= maxDetails || (details.size === 0 && known.size >= maxDetailedKinds);
    if (isFull && !details.has(detail)) return { ...kind, detail: undefined };
    known.set(name, details.add(detail));
    return kind;
  };
}
