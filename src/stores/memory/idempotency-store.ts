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
} from '../../ports/idempotency-store.ts';
import { aClock, checkMakerOptions, positive, strict } from '../../ports/set-up.ts';

interface Kept extends Pick<ClaimInput, 'keyId' | 'operation'> {
  readonly record: ClaimRecord;
  readonly leaseEndsAtMs: number;
  readonly forgetAtMs: number;
}

interface IdempotencyRecords {
  find(name: string, nowMs: number): Kept | undefined;
  /**
   * Adds a running record in place of any other of this name.
   *
   * @throws StoreUnavailable if nothing may be forgotten for it, or the key has its fair share
   */
  add(name: string, kept: Kept, nowMs: number): void;
  end(name: string, running: Kept, ended: Kept): void;
  forget(name: string): void;
}

/** An `unknown` record of an image call is kept at least this long. */
const minImageRetentionMs = 60 * 60 * 1000;
/** A claim takes one record and owns none yet. */
const share = { own: 0, isSmall: true } as const;

interface Table {
  readonly maxRecords: number;
  readonly byName: Map<string, Kept>;
  /** Names of the records that may be forgotten early, oldest first. */
  readonly done: Set<string>;
  readonly unknownChats: Set<string>;
  readonly unknownImages: Set<string>;
  /** By key, how many records can't be forgotten early: running calls and unknown images. */
  readonly pinned: FairShares;
}

function idempotencyRecords(maxRecords: number): IdempotencyRecords {
  const byName = new Map<string, Kept>();
  const table: Table = {
    maxRecords,
    byName,
    done: new Set(),
    unknownChats: new Set(),
    unknownImages: new Set(),
    pinned: fairShares(() => maxRecords),
  };
  return {
    find: (name, nowMs) => {
      const kept = byName.get(name);
      return kept !== undefined && kept.forgetAtMs > nowMs ? kept : undefined;
    },
    add: (name, kept, nowMs) => {
      forget(table, name);
      makeSpace(table, nowMs);
      if (!table.pinned.take(kept.keyId, 1, share)) throw full();
      append(table, name, kept);
    },
    end: (name, running, ended) => {
      remove(table, name, running);
      append(table, name, ended);
      if (!isPinned(table, ended)) table.pinned.give(ended.keyId, 1);
    },
    forget: (name) => forget(table, name),
  };
}

/** The records of the same kind that may be forgotten early; undefined for a running one. */
function groupOf(
  { done, unknownChats, unknownImages }: Table,
  { record, operation }: Kept,
): Set<string> | undefined {
  if (record.state === 'done') return done;
  if (record.state === 'running') return undefined;
  return operation === 'images' ? unknownImages : unknownChats;
}

function isPinned(table: Table, kept: Kept): boolean {
  const group = groupOf(table, kept);
  return group === undefined || group === table.unknownImages;
}

/** Appends a record, so that maps and sets stay in order of age. */
function append(table: Table, name: string, kept: Kept): void {
  table.byName.set(name, kept);
  groupOf(table, kept)?.add(name);
}

function remove(table: Table, name: string, kept: Kept): void {
  table.byName.delete(name);
  groupOf(table, kept)?.delete(name);
}

function forget(table: Table, name: string): void {
  const kept = table.byName.get(name);
  if (kept === undefined) return;
  remove(table, name, kept);
  if (isPinned(table, kept)) table.pinned.give(kept.keyId, 1);
}

function makeSpace(table: Table, nowMs: number): void {
  const { byName, maxRecords, done, unknownChats } = table;
  // Two for each one added: expired records get fewer, and no single call removes all of them.
  forgetFirstIfOld(table, nowMs);
  forgetFirstIfOld(table, nowMs);
  if (byName.size < maxRecords) return;
  const first = firstOf(done) ?? firstOf(unknownChats) ?? oldImage(table, nowMs);
  if (first === undefined) throw full();
  forget(table, first);
}

function forgetFirstIfOld(table: Table, nowMs: number): void {
  const [first] = table.byName;
  if (first !== undefined && first[1].forgetAtMs <= nowMs) forget(table, first[0]);
}

function oldImage({ unknownImages, byName }: Table, nowMs: number): string | undefined {
  const name = firstOf(unknownImages);
  const endedAtMs = name === undefined ? undefined : byName.get(name)?.record.endedAtMs;
  return endedAtMs !== undefined && nowMs - endedAtMs >= minImageRetentionMs ? name : undefined;
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
