/**
 * Claims in this process's memory. Each operation is one synchronous step; it survives nothing and
 * serves one process.
 */
import { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import { StoreUnavailable } from '../../ports/call-options.ts';
import type {
  AbandonResult,
  ClaimInput,
  ClaimRecord,
  ClaimResult,
  FinishResult,
  IdempotencyStore,
} from '../../ports/idempotency-store.ts';
import { aClock, checkMakerOptions, positive } from '../../ports/set-up.ts';

/** The clock of the leases, and how much is remembered. */
export interface MemoryIdempotencyStoreOptions {
  /** The store's own clock, by which leases end. */
  readonly clock?: Clock;
  /**
   * How many calls are remembered; 100,000 where left out. One more takes the place of the call
   * that was done first; where none is done, it is refused with `StoreUnavailable`.
   */
  readonly maxRecords?: number;
}

const optionsSchema = z.strictObject(
  {
    clock: aClock.optional(),
    maxRecords: positive.optional(),
  } satisfies Record<keyof MemoryIdempotencyStoreOptions, z.ZodType>,
  'must be an object',
);

/** What is kept, beside what is told of it. */
interface Kept {
  readonly record: ClaimRecord;
  readonly leaseEndsAtMs: number;
  readonly forgetAtMs: number;
}

/**
 * An idempotency store in memory; answers at once, never by promise.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function memoryIdempotencyStore(
  options: MemoryIdempotencyStoreOptions = {},
): IdempotencyStore {
  checkMakerOptions('memoryIdempotencyStore', optionsSchema, options);
  const { clock = systemClock(), maxRecords = 100_000 } = options;
  const byName = new Map<string, Kept>();
  /** Names of what is done, the oldest first: what may be forgotten early. */
  const done = new Set<string>();

  const forget = (name: string): void => {
    byName.delete(name);
    done.delete(name);
  };

  const keep = (name: string, kept: Kept): void => {
    // Behind all others: what comes first has been kept longest.
    forget(name);
    byName.set(name, kept);
    if (kept.record.state === 'done') done.add(name);
  };

  const find = (name: string, nowMs: number): Kept | undefined => {
    const kept = byName.get(name);
    return kept !== undefined && kept.forgetAtMs > nowMs ? kept : undefined;
  };

  /** The record of this claim, if it has not ended. */
  const findOpen = (name: string, claimId: string): ClaimRecord | undefined => {
    const record = find(name, clock.now())?.record;
    return record?.claimId === claimId && record.state === 'running' ? record : undefined;
  };

  const forgetFirstIfOld = (nowMs: number): void => {
    const [first] = byName;
    if (first !== undefined && first[1].forgetAtMs <= nowMs) forget(first[0]);
  };

  const makeRoom = (nowMs: number): void => {
    // Two for each one added: old ones shrink away, and no call pays for all of them.
    forgetFirstIfOld(nowMs);
    forgetFirstIfOld(nowMs);
    if (byName.size < maxRecords) return;
    const [doneFirst] = done;
    if (doneFirst === undefined) throw new StoreUnavailable('full', { outcome: 'not_done' });
    forget(doneFirst);
  };

  return {
    claim: (input): ClaimResult => {
      const nowMs = clock.now();
      const kept = find(input.name, nowMs);
      if (kept !== undefined && input.ifTaken === 'answer') {
        return { status: 'taken', record: asOf(nowMs, kept) };
      }
      forget(input.name);
      makeRoom(nowMs);
      keep(input.name, claimed(input, nowMs));
      return { status: 'claimed' };
    },
    finish: ({ name, claimId, state, httpStatus, keepMs }): FinishResult => {
      const nowMs = clock.now();
      const open = findOpen(name, claimId);
      if (open === undefined) return { status: 'gone' };
      const record: ClaimRecord = { ...open, state, status: httpStatus, endedAtMs: nowMs };
      keep(name, { record, leaseEndsAtMs: nowMs, forgetAtMs: nowMs + keepMs });
      return { status: 'finished' };
    },
    abandon: ({ name, claimId }): AbandonResult => {
      if (findOpen(name, claimId) === undefined) return { status: 'gone' };
      forget(name);
      return { status: 'abandoned' };
    },
  };
}

function claimed(input: ClaimInput, nowMs: number): Kept {
  const { fingerprint, claimId, requestId, leaseMs, keepMs } = input;
  return {
    record: {
      state: 'running',
      fingerprint,
      claimId,
      requestId,
      status: undefined,
      claimedAtMs: nowMs,
      endedAtMs: undefined,
    },
    leaseEndsAtMs: nowMs + leaseMs,
    forgetAtMs: nowMs + leaseMs + keepMs,
  };
}

/** A claim whose lease has run out is one of a gateway that crashed: it may have run. */
function asOf(nowMs: number, { record, leaseEndsAtMs }: Kept): ClaimRecord {
  const isLost = record.state === 'running' && leaseEndsAtMs <= nowMs;
  return isLost ? { ...record, state: 'unknown' } : record;
}
