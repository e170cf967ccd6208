/**
 * An idempotency store in this process's memory. Each operation is one synchronous step. Claims are
 * lost when the process ends, and no other process sees them.
 */
import type { z } from 'zod';
import { type FairShares, fairShares } from '../../bytes/body/fair-shares.ts';
import { type Clock, systemClock } from '../../clock.ts';
import { StoreUnavailable } from '../../ports/call-options.ts';
import type {
  AbandonResult,
  ClaimInput,
  ClaimRecord,
  ClaimResult,
  FinishResult,
  IdempotencyStore,
} from '../../ports/replies/idempotency-store.ts';
import { aClock, checkMakerOptions, positive, strict } from '../../ports/set-up.ts';

interface Kept extends Pick<ClaimInput, 'keyId' | 'operation'> {
  readonly record: ClaimRecord;
  readonly leaseEndsAtMs: number;
  readonly forgetAtMs: number;
}

/** An `unknown` record of an image call is kept at least this long. */
const minImageRetentionMs = 60 * 60 * 1000;
/** A claim takes one record and owns none yet. */
const share = { own: 0, isSmall: true } as const;

/** Maps and sets are in order of age. */
class IdempotencyRecords {
  readonly #maxRecords: number;
  readonly #byName = new Map<string, Kept>();
  /** Names of the records that may be forgotten early, oldest first. */
  readonly #done = new Set<string>();
  readonly #unknownChats = new Set<string>();
  readonly #unknownImages = new Set<string>();
  /** By key, how many records can't be forgotten early: running calls and unknown images. */
  readonly #pinned: FairShares;

  constructor(maxRecords: number) {
    this.#maxRecords = maxRecords;
    this.#pinned = fairShares(() => maxRecords);
  }

  find(name: string, nowMs: number): Kept | undefined {
    const kept = this.#byName.get(name);
    return kept !== undefined && kept.forgetAtMs > nowMs ? kept : undefined;
  }

  /**
   * Adds a running record in place of any other of this name.
   *
   * @throws StoreUnavailable if nothing may be forgotten for it, or the key has its fair share
   */
  add(name: string, kept: Kept, nowMs: number): void {
    this.forget(name);
    this.#makeSpace(nowMs);
    if (!this.#pinned.take(kept.keyId, 1, share)) throw full();
    this.#append(name, kept);
  }

  end(name: string, running: Kept, ended: Kept): void {
    this.#remove(name, running);
    this.#append(name, ended);
    if (!this.#isPinned(ended)) this.#pinned.give(ended.keyId, 1);
  }

  forget(name: string): void {
    const kept = this.#byName.get(name);
    if (kept === undefined) return;
    this.#remove(name, kept);
    if (this.#isPinned(kept)) this.#pinned.give(kept.keyId, 1);
  }

  /** The records of the same kind that may be forgotten early; undefined for a running one. */
  #groupOf({ record, operation }: Kept): Set<string> | undefined {
    if (record.state === 'done') return this.#done;
    if (record.state === 'running') return undefined;
    return operation === 'images' ? this.#unknownImages : this.#unknownChats;
  }

  #isPinned(kept: Kept): boolean {
    const group = this.#groupOf(kept);
    return group === undefined || group === this.#unknownImages;
  }

  #append(name: string, kept: Kept): void {
    this.#byName.set(name, kept);
    this.#groupOf(kept)?.add(name);
  }

  #remove(name: string, kept: Kept): void {
    this.#byName.delete(name);
    this.#groupOf(kept)?.delete(name);
  }

  #makeSpace(nowMs: number): void {
    // Two for each one added: expired records get fewer, and no single call removes all of them.
    this.#forgetFirstIfOld(nowMs);
    this.#forgetFirstIfOld(nowMs);
    if (this.#byName.size < this.#maxRecords) return;
    const first = firstOf(this.#done) ?? firstOf(this.#unknownChats) ?? this.#oldImage(nowMs);
    if (first === undefined) throw full();
    this.forget(first);
  }

  #forgetFirstIfOld(nowMs: number): void {
    const [first] = this.#byName;
    if (first !== undefined && first[1].forgetAtMs <= nowMs) this.forget(first[0]);
  }

  #oldImage(nowMs: number): string | undefined {
    const name = firstOf(this.#unknownImages) ?? '';
    const endedAtMs = this.#byName.get(name)?.record.endedAtMs;
    return endedAtMs !== undefined && nowMs - endedAtMs >= minImageRetentionMs ? name : undefined;
  }
}

function firstOf(names: ReadonlySet<string>): string | undefined {
  const [first] = names;
  return first;
}

function full(): StoreUnavailable {
  return new StoreUnavailable('full', { outcome: 'not_done' });
}

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

const optionsSchema = strict('must be an object', {
  clock: aClock.optional(),
  maxRecords: positive.optional(),
} satisfies Record<keyof MemoryIdempotencyStoreOptions, z.ZodType>);

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
  const records = new IdempotencyRecords(maxRecords);
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
