/**
 * The context of each quota case: a new store, a new partition, and short forms of the calls.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Nanos } from '../../../money.ts';
import type { MaybePromise } from '../../../ports/call-options.ts';
import type {
  AdjustInput,
  ExtendResult,
  QuotaBalance,
  QuotaLine,
  QuotaState,
  QuotaStore,
  ReleaseResult,
  ReserveInput,
  ReserveResult,
  SettleResult,
} from '../../../ports/limits/quota-store.ts';
import type { Cases, Cleanable } from '../contract-case.ts';

/** A store to test, with its clock. */
export interface QuotaStoreSetup extends Cleanable {
  /** The store to test; it may share a database with those of other cases. */
  readonly store: QuotaStore;
  /** Advances the store's clock; leases must end by this clock only. */
  readonly clock: {
    /** Moves the store's time on. */
    advance(ms: number): MaybePromise<void>;
  };
}

/** Makes a new store with a clock, once per case. */
export type MakeQuotaStore = () => MaybePromise<QuotaStoreSetup>;

export type QuotaCases = Cases<CaseContext>;

/** Short forms of the calls of one case, all in one partition with leases of `ttlMs`. */
export interface CaseContext {
  readonly store: QuotaStore;
  readonly partition: string;
  advance(ms: number): Promise<void>;
  /** Sets the limit of a subject, together with other changes. */
  give(subject: string, limit: Nanos, change?: Partial<AdjustInput>): Promise<QuotaState>;
  reserve(
    id: string,
    lines: readonly QuotaLine[],
    change?: Partial<ReserveInput>,
  ): Promise<ReserveResult>;
  /** Reserves one line with a new id, and asserts that it is held. */
  hold(subject: string, amount: Nanos, change?: Partial<ReserveInput>): Promise<string>;
  extend(id: string, add?: readonly Nanos[], forMs?: number): Promise<ExtendResult>;
  settle(id: string, lines: readonly QuotaLine[]): Promise<SettleResult>;
  release(id: string, lines: readonly QuotaLine[]): Promise<ReleaseResult>;
  read(subject: string, period?: string): Promise<QuotaState | undefined>;
  /** Asserts the amounts of a row, and how many of its holds are running. */
  expectState(subject: string, expected: ExpectedState): Promise<void>;
}

export interface ExpectedState {
  readonly used: Nanos;
  readonly held: Nanos;
  readonly inFlight?: number;
  readonly period?: string;
}

/** The lease of reservations by default. */
export const ttlMs = 30_000;

export function newId(): string {
  return randomUUID();
}

export function newIds(count: number): readonly string[] {
  return Array.from({ length: count }, newId);
}

/** A line on a subject, by default without a period. */
export function line(subject: string, amount: Nanos, rest: Partial<QuotaLine> = {}): QuotaLine {
  return { subject, period: '', amount, ...rest };
}

export async function expectRefused(call: () => MaybePromise<unknown>): Promise<void> {
  await assert.rejects(async () => call(), { name: 'RangeError' });
}

/** Asserts a refusal for want of money, and how much is left. */
export function expectInsufficient(
  result: ReserveResult | ExtendResult,
  available: Nanos,
  subject?: string,
): void {
  assert(result.status === 'insufficient');
  assert.equal(result.available, available);
  if (subject !== undefined) assert.equal(result.subject, subject);
}

/** Asserts the balances that a charge states; a store may leave them out. */
export function expectBalances(result: SettleResult, expected: readonly QuotaBalance[]): void {
  assert(result.status === 'settled' || result.status === 'settled_late');
  if (result.balances !== undefined) assert.deepEqual(result.balances, expected);
}

export function countOf(results: readonly { readonly status: string }[], status: string): number {
  return results.filter((result) => result.status === status).length;
}

/** Makes the context of one case, in a partition of its own. */
export function caseContext({ store, clock }: QuotaStoreSetup): CaseContext {
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
      assert(
        result !== undefined && others.length === 0,
        'extend must return one result per input',
      );
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
