/**
 * Reads a long stretch of the usage log in small steps. A log in this process (SQLite, memory)
 * holds up the event loop while it searches, however few rows it finds, so its time is cut into
 * slices. A database elsewhere is asked for all of it.
 */
import type { Clock } from '../clock.ts';
import type { MaybePromise } from '../ports/call-options.ts';
import type { UsageRecordPage } from '../stores/sql/usage-report.ts';
import type { AdminUsage } from './deps.ts';
import type { InOwnTurn } from './loop-turns.ts';

/** The log, and what a walk needs besides. */
export interface WalkDeps {
  readonly usage: AdminUsage;
  readonly clock: Clock;
  readonly inOwnTurn: InOwnTurn;
}

/** Between which start times the calls are, as in `UsageFilter`. */
export interface Span {
  readonly fromMs?: number;
  readonly toMs?: number;
}

/** A step of a walk: a slice, or what follows a page of it. */
export interface Step extends Span {
  readonly after?: string;
}

/** A way to stop a walk whose result nobody waits for any more. */
export interface WalkOptions {
  readonly signal?: AbortSignal;
}

const firstSliceMs = 60_000;
const quickMs = 4;
const slowMs = 2 * quickMs;

/**
 * What `read` returns for each step, the oldest first: one read in each turn of the event loop. A
 * slice is read until there is no `next`; after a quick one, the next slice is twice as long.
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
  const timed = (step: Step) => (): MaybePromise<T> => {
    const startedMs = clock.monotonicMs();
    const result = read(step);
    const tookMs = clock.monotonicMs() - startedMs;
    if (tookMs < quickMs) lengthMs *= 2;
    if (tookMs > slowMs) lengthMs = Math.max(1, Math.floor(lengthMs / 2));
    return result;
  };
  const ends = await inOwnTurn(() => spanInThisProcess(usage, span));
  let slice: Span | undefined = ends === undefined ? span : sliceOf(ends, ends.fromMs, lengthMs);
  while (slice !== undefined) {
    let after: string | undefined;
    do {
      signal?.throwIfAborted();
      const step: Step = after === undefined ? slice : { ...slice, after };
      const result: T = await inOwnTurn(timed(step));
      yield result;
      after = result.next;
    } while (after !== undefined);
    slice = ends === undefined ? undefined : sliceOf(ends, slice.toMs ?? ends.toMs, lengthMs);
  }
}

/** Both ends of a span; `toMs` is exclusive. */
export type Ends = Required<Span>;

function sliceOf({ toMs }: Ends, fromMs: number, lengthMs: number): Ends | undefined {
  return fromMs < toMs ? { fromMs, toMs: Math.min(fromMs + lengthMs, toMs) } : undefined;
}

/** From the first to the last call of the span, if the log answers without a promise. */
export function spanInThisProcess(usage: AdminUsage, { fromMs, toMs }: Span): Ends | undefined {
  const span = {
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(toMs === undefined ? {} : { toMs }),
  };
  const first = startOf(usage.usageRecords?.(span, { limit: 1 }));
  if (first === undefined) return undefined;
  const last = startOf(usage.usageRecords?.(span, { limit: 1, newestFirst: true }));
  return { fromMs: first, toMs: (last ?? first) + 1 };
}

/** The start of the first call of a page; undefined if it is still on its way, or empty. */
function startOf(page: MaybePromise<UsageRecordPage> | undefined): number | undefined {
  if (page === undefined) return undefined;
  if ('records' in page) return page.records[0]?.startedAtMs;
  // Nobody waits for it, and the first read fails likewise.
  page.catch(() => {});
  return undefined;
}
