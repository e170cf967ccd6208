/**
 * An idempotency store in this process's memory. Each operation is one synchronous step. Claims are
 * lost when the process ends, and no other process sees them.
 */
import { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import type {
  AbandonResult,
  ClaimInput,
  ClaimRecord,
  ClaimResult,
  FinishResult,
  IdempotencyStore,
} from '../../ports/idempotency-store.ts';
import { aClock, checkMakerOptions, positive } from '../../ports/set-up.ts';
import { idempotencyRecords, type Kept } from './idempotency-records.ts';

/** The clock of the leases, and how many records are kept. */
export interface MemoryIdempotencyStoreOptions {
  /** The clock by which leases end. */
  readonly clock?: Clock;
  /**
   * How many calls are remembered. Default: 100,000. A full store makes room for a new claim by
   * forgetting the oldest `done` record, else the oldest `unknown` one of a text call, else the
   * oldest `unknown` one of an image call that ended over an hour ago. Where there is none of
   * these, the claim is refused with `StoreUnavailable`. So is the claim of a key whose running
   * calls and unknown images fill a quarter of the store while those of all keys fill half of it.
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

/**
 * An idempotency store in memory; its methods return directly, never a promise.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function memoryIdempotencyStore(
  options: MemoryIdempotencyStoreOptions = {},
): IdempotencyStore {
  checkMakerOptions('memoryIdempotencyStore', optionsSchema, options);
  const { clock = systemClock(), maxRecords = 100_000 } = options;
  const records = idempotencyRecords(maxRecords);
  return {
    claim: (input): ClaimResult => {
      const nowMs = clock.now();
      const kept = records.find(input.name, nowMs);
      if (kept !== undefined && input.ifTaken === 'answer') {
        return { status: 'taken', record: currentRecord(nowMs, kept) };
      }
      records.add(input.name, claimed(input, nowMs), nowMs);
      return { status: 'claimed' };
    },
    finish: ({ name, claimId, state, httpStatus, keepMs }): FinishResult => {
      const nowMs = clock.now();
      const open = ifOpen(records.find(name, nowMs), claimId);
      if (open === undefined) return { status: 'gone' };
      const record: ClaimRecord = { ...open.record, state, status: httpStatus, endedAtMs: nowMs };
      const ended = { ...open, record, leaseEndsAtMs: nowMs, forgetAtMs: nowMs + keepMs };
      records.end(name, open, ended);
      return { status: 'finished' };
    },
    abandon: ({ name, claimId }): AbandonResult => {
      const open = ifOpen(records.find(name, clock.now()), claimId);
      if (open === undefined) return { status: 'gone' };
      records.forget(name);
      return { status: 'abandoned' };
    },
  };
}

/** The record, if it is that of this claim and still running. */
function ifOpen(kept: Kept | undefined, claimId: string): Kept | undefined {
  const isOpen = kept?.record.claimId === claimId && kept.record.state === 'running';
  return isOpen ? kept : undefined;
}

function claimed(input: ClaimInput, nowMs: number): Kept {
  const { fingerprint, claimId, requestId, leaseMs, keepMs, keyId, operation } = input;
  return {
    keyId,
    operation,
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

/** A running claim whose lease has run out is unknown: its gateway crashed, it may have run. */
function currentRecord(nowMs: number, { record, leaseEndsAtMs }: Kept): ClaimRecord {
  const isLost = record.state === 'running' && leaseEndsAtMs <= nowMs;
  return isLost ? { ...record, state: 'unknown' } : record;
}
