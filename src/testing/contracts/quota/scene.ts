/**
 * What a quota case plays on: a fresh store, a partition of its own, and short words for the calls.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Nanos } from '../../../money.ts';
import type { MaybePromise } from '../../../ports/call-options.ts';
import type {
  AdjustInput,
  ExtendResult,
  QuotaLine,
  QuotaState,
  QuotaStore,
  ReleaseResult,
  ReserveInput,
  ReserveResult,
  SettleResult,
} from '../../../ports/quota-store.ts';

/** A store to be proved, with the clock that it lives by. */
export interface QuotaStoreSetup {
  readonly store: QuotaStore;
  /** Moves the store's own clock; its leases must end by nothing else. */
  readonly clock: { advance(ms: number): MaybePromise<void> };
  /** Called when the case is over, however it ended. */
  cleanup?(): MaybePromise<void>;
}

/** Makes a fresh store with a clock of its own, for each case. */
export type MakeQuotaStore = () => MaybePromise<QuotaStoreSetup>;

/** A case before it is given a store. */
export interface QuotaCase {
  readonly name: string;
  readonly run: (scene: Scene) => Promise<void>;
}

/** Short words for the calls of one case, all in one partition, under a lease of `ttlMs`. */
export interface Scene {
  readonly store: QuotaStore;
  readonly partition: string;
  /** Moves the store's clock. */
  advance(ms: number): Promise<void>;
  /** Gives a subject a limit, and changes what else is asked. */
  give(subject: string, limit: Nanos, change?: Partial<AdjustInput>): Promise<QuotaState>;
  reserve(
    id: string,
    lines: readonly QuotaLine[],
    change?: Partial<ReserveInput>,
  ): Promise<ReserveResult>;
  /** Reserves one line under a new id, and insists that it is held. */
  hold(subject: string, amount: Nanos, change?: Partial<ReserveInput>): Promise<string>;
  extend(id: string, add?: readonly Nanos[], forMs?: number): Promise<ExtendResult>;
  settle(id: string, lines: readonly QuotaLine[]): Promise<SettleResult>;
  release(id: string, lines: readonly QuotaLine[]): Promise<ReleaseResult>;
  read(subject: string, period?: string): Promise<QuotaState | undefined>;
  /** Insists on what a subject has used and holds, and on how many hold it. */
  expectState(subject: string, expected: ExpectedState): Promise<void>;
}

/** The part of a row that a case is about. */
export interface ExpectedState {
  readonly used: Nanos;
  readonly held: Nanos;
  readonly inFlight?: number;
  readonly period?: string;
}

/** The lease of a scene's reservations. */
export const ttlMs = 30_000;

/** An id that was never used before, in any store. */
export function newId(): string {
  return randomUUID();
}

/** Reservation ids that no other case has. */
export function newIds(count: number): readonly string[] {
  return Array.from({ length: count }, newId);
}

/** A line on a subject, for all time where nothing else is said. */
export function line(subject: string, amount: Nanos, rest: Partial<QuotaLine> = {}): QuotaLine {
  return { subject, period: '', amount, ...rest };
}

/** Insists that the store refuses an input as illegal, before it does anything. */
export async function expectRefused(call: () => MaybePromise<unknown>): Promise<void> {
  await assert.rejects(async () => call(), { name: 'RangeError' });
}

/** How many of the results have this status. */
export function countOf(results: readonly { readonly status: string }[], status: string): number {
  return results.filter((result) => result.status === status).length;
}

/** The few words in which the cases speak to a store. */
export function openScene({ store, clock }: QuotaStoreSetup): Scene {
  const partition = `contract-${newId()}`;
  const read = async (subject: string, period = ''): Promise<QuotaState | undefined> =>
    store.read(subject, period, partition);
  const reserve = async (
    id: string,
    lines: readonly QuotaLine[],
    change: Partial<ReserveInput> = {},
  ): Promise<ReserveResult> =>
    store.reserve({ id, partition, lines, ttlMs, onExpire: 'release', ...change });

  return {
    store,
    partition,
    read,
    reserve,
    advance: async (ms) => clock.advance(ms),
    give: async (subject, limit, change) =>
      store.adjust({ id: newId(), partition, subject, period: '', limit, ...change }),
    hold: async (subject, amount, change) => {
      const id = newId();
      const result = await reserve(id, [line(subject, amount)], change);
      assert.equal(result.status, 'held');
      return id;
    },
    extend: async (id, add, forMs = ttlMs) => {
      const input = { id, partition, ttlMs: forMs, ...(add === undefined ? {} : { add }) };
      const [result, ...others] = await store.extend([input]);
      assert(result !== undefined && others.length === 0, 'extend answers each input once');
      return result;
    },
    settle: async (id, lines) => store.settle({ id, partition, lines, basis: 'usage' }),
    release: async (id, lines) => store.release({ id, partition, lines }),
    expectState: async (subject, { period = '', ...expected }) => {
      const state = await read(subject, period);
      assert(state !== undefined, `there is no row of ${subject} ${period}`);
      const { used, held, inFlight } = state;
      assert.deepEqual({ used, held, inFlight }, { inFlight, ...expected });
    },
  };
}
