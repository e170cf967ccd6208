/**
 * Claims in this process's memory. Each operation is one synchronous step; it survives nothing and
 * serves one process.
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

/** The clock of the leases, and how much is remembered. */
export interface MemoryIdempotencyStoreOptions {
  /** The store's own clock, by which leases end. */
  readonly clock?: Clock;
  /**
   * How many calls are remembered; 100,000 where left out. One more takes the place of the call
   * that was done first, else of the text that has been unknown for longest, else of such an image
   * if it has been for an hour. Where there is none, and for a key whose running calls and unknown
   * images are a quarter of all while those of all keys are half, it is refused with
   * `StoreUnavailable`.
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

/** An unknown image is kept for so long, whatever comes. */
const imageKeptMs = 60 * 60 * 1000;

/** What is kept, beside what is told of it. */
interface Kept extends Pick<ClaimInput, 'keyId' | 'operation'> {
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
  /** Names of what may be forgotten early, the oldest first. */
  const done = new Set<string>();
  const unknownChats = new Set<string>();
  const unknownImages = new Set<string>();
  /** How many records of each key can't be forgotten for others: its running calls and images. */
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

  /** Behind all others: what comes first has been kept longest. */
  const add = (name: string, kept: Kept): void => {
    byName.set(name, kept);
    groupOf(kept)?.add(name);
  };

  const find = (name: string, nowMs: number): Kept | undefined => {
    const kept = byName.get(name);
    return kept !== undefined && kept.forgetAtMs > nowMs ? kept : undefined;
  };

  /** What is kept of this claim, if it has not ended. */
  const findOpen = (name: string, claimId: string): Kept | undefined => {
    const kept = find(name, clock.now());
    const isOpen = kept?.record.claimId === claimId && kept.record.state === 'running';
    return isOpen ? kept : undefined;
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
    const first = firstOf(done) ?? firstOf(unknownChats) ?? oldImage(nowMs);
    if (first === undefined) throw full();
    forget(first);
  };

  const oldImage = (nowMs: number): string | undefined => {
    const name = firstOf(unknownImages);
    const endedAtMs = name === undefined ? undefined : byName.get(name)?.record.endedAtMs;
    return endedAtMs !== undefined && nowMs - endedAtMs >= imageKeptMs ? name : undefined;
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

/** A claim asks for one record, and none of those that its key has is its own. */
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

/** A claim whose lease has run out is one of a gateway that crashed: it may have run. */
function asOf(nowMs: number, { record, leaseEndsAtMs }: Kept): ClaimRecord {
  const isLost = record.state === 'running' && leaseEndsAtMs <= nowMs;
  return isLost ? { ...record, state: 'unknown' } : record;
}
