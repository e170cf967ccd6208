/**
 * Delivers the ends of calls to the stores. What a store can't take now is kept, in a bounded list,
 * and tried again with the same id until it lands: a caller never waits for it, and nothing is
 * charged twice.
 */
import type { Clock } from '../clock.ts';
import type { EventListener } from '../events.ts';
import type { MaybePromise } from '../ports/call-options.ts';
import type { UsageRecord, UsageSink } from '../ports/usage-sink.ts';

export interface Outbox {
  /** Runs an idempotent store operation now, or as soon as the store can take it. Never rejects. */
  deliver(
    operation: 'settle' | 'release' | 'extend',
    run: () => MaybePromise<unknown>,
  ): Promise<void>;
  /**
   * Hands a record to the sink. A sink that fails is reported, and asked no second time: it may
   * have written.
   */
  log(record: UsageRecord, sink: UsageSink | undefined): Promise<void>;
  /** Tries again what is due. Called by the gateway's one timer. */
  retry(): Promise<void>;
  /** Operations that have not landed yet. */
  size(): number;
}

interface Waiting {
  readonly operation: 'settle' | 'release' | 'extend';
  readonly run: () => MaybePromise<unknown>;
  readonly sinceMs: number;
  dueMs: number;
  waitMs: number;
}

/** Shorter than any store keeps its tombstones: a later settle could charge twice. */
const oldestMs = 15 * 60_000;
const firstWaitMs = 100;
const longestWaitMs = 10_000;
const mostWaiting = 100_000;

export function outbox(clock: Clock, emit: EventListener): Outbox {
  let waiting: Waiting[] = [];

  const report = (port: 'quota' | 'usage', operation: string, error: unknown): void => {
    const reason = error instanceof Error ? error.name : 'thrown';
    emit({ type: 'port_failed', requestId: undefined, port, operation, reason });
  };

  const attempt = async ({
    operation,
    run,
  }: Pick<Waiting, 'operation' | 'run'>): Promise<boolean> => {
    try {
      await run();
      return true;
    } catch (error) {
      report('quota', operation, error);
      return false;
    }
  };

  const keep = (entry: Waiting): void => {
    if (waiting.length >= mostWaiting) report('quota', entry.operation, new Error('outbox full'));
    else waiting.push(entry);
  };

  return {
    deliver: async (operation, run) => {
      if (await attempt({ operation, run })) return;
      const nowMs = clock.monotonicMs();
      keep({ operation, run, sinceMs: nowMs, dueMs: nowMs + firstWaitMs, waitMs: firstWaitMs });
    },
    log: async (record, sink) => {
      try {
        await sink?.record(record);
      } catch (error) {
        report('usage', 'record', error);
      }
    },
    retry: async () => {
      const nowMs = clock.monotonicMs();
      const due = waiting.filter(({ dueMs }) => dueMs <= nowMs);
      if (due.length === 0) return;
      waiting = waiting.filter(({ dueMs }) => dueMs > nowMs);
      for (const entry of due) {
        if (nowMs - entry.sinceMs > oldestMs) {
          report('quota', `${entry.operation}_lost`, new Error('too old'));
        } else if (!(await attempt(entry))) {
          const waitMs = Math.min(entry.waitMs * 2, longestWaitMs);
          keep({ ...entry, waitMs, dueMs: nowMs + waitMs });
        }
      }
    },
    size: () => waiting.length,
  };
}
