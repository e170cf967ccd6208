/**
 * Records refusals: counts them minute by minute, and writes the counts of each minute that is over
 * to the host's log. No request waits for that, and a log that is down costs little memory.
 */
import type { EventListener } from '../events/events.ts';
import type { Settings } from '../options.ts';
import type { RecordedRefusals, RefusalLog } from '../ports/refusal-log.ts';
import { isAnything } from './ports/port-answers.ts';
import type { PortCalls } from './ports/port-calls.ts';
import {
  boundedDetails,
  type RefusalCounts,
  type RefusalKind,
  refusalCounts,
} from './refusal-counts.ts';
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
