/**
 * An idempotency store in this process's memory. Each operation is one synchronous step. Claims are
 * lost when the process ends, and no other process sees them.
 */
import { z } from 'zod';
import { fairShares } from '../../bytes/body/fair-shares.ts';
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

/** An `unknown` record of an image call is kept at least this long. */
const minImageRetentionMs = 60 * 60 * 1000;

/** A record and what the store itself needs to know about it. */
interface Kept extends Pick<ClaimInput, 'keyId' | 'operation'> {
  readonly record: ClaimRecord;
  readonly leaseEndsAtMs: number;
  readonly forgetAtMs: number;
}

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
  const byName = new Map<string, Kept>();
  /** Names of the records that may be forgotten early, oldest first. */
  const done = new Set<string>();
  const unknownChats = new Set<string>();
  const unknownImages = new Set<string>();
  /** By key, how many records can't be forgotten early: running calls and unknown images. */
  const pinned = fairShares(() => maxRecords);

  const groupOf = ({ record, operation }: Kept): Set<string> | undefined => {
    if (record.state === 'done') return done;
    if (record.state === 'running') return undefined;
    return operation === 'images' ? unknownImages : unknownChats;
  };

  const isPinned = (kept: Kept): boolean => {
    const group = groupOf(kept);
    return group === undefined || group === unknownImages;
  };

  const remove = (name: string, kept: Kept): void => {
    byName.delete(name);
    groupOf(kept)?.delete(name);
  };

  const forget = (name: string): void => {
    const kept = byName.get(name);
    if (kept === undefined) return;
    remove(name, kept);
    if (isPinned(kept)) pinned.give(kept.keyId, 1);
  };

  /** Appends a record, so that maps and sets stay in order of age. */
  const add = (name: string, kept: Kept): void => {
    byName.set(name, kept);
    groupOf(kept)?.add(name);
  };

  const find = (name: string, nowMs: number): Kept | undefined => {
    const kept = byName.get(name);
    return kept !== undefined && kept.forgetAtMs > nowMs ? kept : undefined;
  };

  /** The record of this claim, if it is still running. */
  const findOpen = (name: string, claimId: string): Kept | undefined => {
    const kept = find(name, clock.now());
    const isOpen = kept?.record.claimId === claimId && kept.record.state === 'running';
    return isOpen ? kept : undefined;
  };

  const forgetFirstIfOld = (nowMs: number): void => {
    const [first] = byName;
    if (first !== undefined && first[1].forgetAtMs <= nowMs) forget(first[0]);
  };

  const makeSpace = (nowMs: number): void => {
    // Two for each one added: expired records get fewer, and no single call removes all of them.
    forgetFirstIfOld(nowMs);
    forgetFirstIfOld(nowMs);
    if (byName.size < maxRecords) return;
    const first = firstOf(done) ?? firstOf(unknownChats) ?? oldImage(nowMs);
    if (first === undefined) throw full();
    forget(first);
  };

  const oldImage = (nowMs: number): string | undefined => {
    const name = firstOf(unknownImages);
    const endedAtMs = name === undefined ? undefined : byName.get(name)?.record.endedAtMs;
    return endedAtMs !== undefined && nowMs - endedAtMs >= minImageRetentionMs ? name : undefined;
  };

  return {
    claim: (input): ClaimResult => {
      const nowMs = clock.now();
      const kept = find(input.name, nowMs);
      if (kept !== undefined && input.ifTaken === 'answer') {
        return { status: 'taken', record: currentRecord(nowMs, kept) };
      }
      forget(input.name);
      makeSpace(nowMs);
      if (!pinned.take(input.keyId, 1, share)) throw full();
      add(input.name, claimed(input, nowMs));
      return { status: 'claimed' };
    },
    finish: ({ name, claimId, state, httpStatus, keepMs }): FinishResult => {
      const nowMs = clock.now();
      const open = findOpen(name, claimId);
      if (open === undefined) return { status: 'gone' };
      const record: ClaimRecord = { ...open.record, state, status: httpStatus, endedAtMs: nowMs };
      const ended = { ...open, record, leaseEndsAtMs: nowMs, forgetAtMs: nowMs + keepMs };
      remove(name, open);
      add(name, ended);
      if (!isPinned(ended)) pinned.give(ended.keyId, 1);
      return { status: 'finished' };
    },
    abandon: ({ name, claimId }): AbandonResult => {
      if (findOpen(name, claimId) === undefined) return { status: 'gone' };
      forget(name);
      return { status: 'abandoned' };
    },
  };
}

/** A claim takes one record and owns none yet. */
const share = { own: 0, isSmall: true } as const;

function full(): StoreUnavailable {
  return new StoreUnavailable('full', { outcome: 'not_done' });
}

function firstOf(names: ReadonlySet<string>): string | undefined {
  const [first] = names;
  return first;
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
