/**
 * Reads a usage log in steps, so that a log in this process does not block it, and adds up what
 * each step found.
 */
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import { type AdminUsage, given } from '../deps.ts';
import { pagesOf } from '../pages.ts';

export interface WalkDeps {
  readonly usage: AdminUsage;
  readonly clock: Clock;
  readonly inOwnTurn: ReturnType<typeof ownTurns>;
}

/** The start times of the calls, as in `UsageFilter`; `toMs` is exclusive. */
export interface Span {
  readonly fromMs?: number;
  readonly toMs?: number;
}

/** A step of a walk: a slice, or the next page of it. */
export interface Step extends Span {
  readonly after?: string;
}

/** Stops a walk whose result is no longer needed. */
export interface WalkOptions {
  /** Stops it at the next page of the log. */
  readonly signal?: AbortSignal;
}

const firstSliceMs = 60_000;
const quickMs = 4;
const slowMs = 2 * quickMs;

/**
 * Reads a long span of the log in small steps. A log in this process (SQLite, memory) blocks the
 * event loop while it searches, even if it finds few rows, so the span is cut into slices. A
 * database server is queried for the whole span.
 *
 * Yields what `read` returns for each step, oldest first, with one read per turn of the event loop.
 * A slice is read until there is no `next`. After a quick read the next slice is twice as long,
 * after a slow one half as long.
 *
 * @throws the reason of the signal when it has stopped the walk
 */
export async function* walkLog<T extends { readonly next?: string | undefined }>(
  { usage, clock, inOwnTurn }: WalkDeps,
  span: Span,
  read: (step: Step) => MaybePromise<T>,
  { signal }: WalkOptions = {},
): AsyncGenerator<T> {
  let lengthMs = firstSliceMs;
  const timed = (step: Step) => async (): Promise<T> => {
    const startedMs = clock.monotonicMs();
    const result = await read(step);
    const tookMs = clock.monotonicMs() - startedMs;
    if (tookMs < quickMs) lengthMs *= 2;
    if (tookMs > slowMs) lengthMs = Math.max(1, Math.floor(lengthMs / 2));
    return result;
  };
  const ends = await inOwnTurn(() => spanInThisProcess(usage, span));
  let slice: Span | undefined = ends === undefined ? span : sliceOf(ends, ends.fromMs, lengthMs);
  while (slice !== undefined) {
    const within: Span = slice;
    yield* pagesOf((page) => {
      signal?.throwIfAborted();
      return inOwnTurn(timed({ ...within, ...page }));
    });
    slice = ends === undefined ? undefined : sliceOf(ends, slice.toMs ?? ends.toMs, lengthMs);
  }
}

type Ends = Required<Span>;

function sliceOf({ toMs }: Ends, fromMs: number, lengthMs: number): Ends | undefined {
  return fromMs < toMs ? { fromMs, toMs: Math.min(fromMs + lengthMs, toMs) } : undefined;
}

/** From the first to the last call of the span, if the log is in this process. */
async function spanInThisProcess(
  { isInProcess, usageRecords }: AdminUsage,
  { fromMs, toMs }: Span,
): Promise<Ends | undefined> {
  if (isInProcess !== true || usageRecords === undefined) return undefined;
  const span = given({ fromMs, toMs });
  const [first] = (await usageRecords(span, { limit: 1 })).records;
  const [last] = (await usageRecords(span, { limit: 1, newestFirst: true })).records;
  if (first === undefined || last === undefined) return undefined;
  return { fromMs: first.startedAtMs, toMs: last.startedAtMs + 1 };
}

/**
 * At most one read per turn, however many exports run at once. SQLite and memory block the process
 * while they answer, so that a step has to be small, and calls run before the next one.
 */
export function ownTurns() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(read: () => MaybePromise<T>): Promise<T> => {
    const turn = last.then(() => setImmediate());
    // The next read waits for this turn, not for this read: a database server runs them
    // concurrently.
    last = turn;
    return turn.then(read);
  };
}
