/**
 * The operations of a quota store as data, so that the same operation can run on a store and on the
 * reference model, and be recorded in a history.
 */
import type {
  AdjustInput,
  ExtendInput,
  QuotaStore,
  ReleaseInput,
  ReserveInput,
  SettleInput,
} from '../../src/ports/limits/quota-store.ts';

/** One operation on a quota store. */
export type Operation =
  | { readonly op: 'reserve'; readonly input: ReserveInput }
  | { readonly op: 'extend'; readonly input: readonly ExtendInput[] }
  | { readonly op: 'settle'; readonly input: SettleInput }
  | { readonly op: 'release'; readonly input: ReleaseInput }
  | { readonly op: 'adjust'; readonly input: AdjustInput }
  | { readonly op: 'read'; readonly input: RowName }
  | { readonly op: 'sweep'; readonly input: { readonly max: number; readonly partition: string } };

/** Identifies a row. */
export interface RowName {
  readonly subject: string;
  readonly period: string;
  readonly partition: string;
}

/** Runs the operation; rejects if the store rejects. */
export async function send(store: QuotaStore, operation: Operation): Promise<unknown> {
  switch (operation.op) {
    case 'reserve':
      return store.reserve(operation.input);
    case 'extend':
      return store.extend(operation.input);
    case 'settle':
      return store.settle(operation.input);
    case 'release':
      return store.release(operation.input);
    case 'adjust':
      return adjusted(store, operation.input);
    case 'read': {
      const { subject, period, partition } = operation.input;
      return store.read(subject, period, partition);
    }
    case 'sweep':
      return store.sweep(operation.input);
  }
}

/** A limit that comes from the key's record can't be set by `adjust`; stores reject that. */
async function adjusted(store: QuotaStore, input: AdjustInput): Promise<unknown> {
  try {
    return await store.adjust(input);
  } catch (error) {
    if (error instanceof RangeError) return 'refused';
    throw error;
  }
}

/** Results that stores may choose: the increments of a version, and how much a sweep leaves. */
const freeMembers: ReadonlySet<string> = new Set(['version', 'expired']);
/** Results that depend on the database's clock, which a test can't control. */
const timeMembers: ReadonlySet<string> = new Set(['expiresAtMs']);

/** A result as stores gave it that did not state the balances after a charge. */
export function withoutBalances(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || !('balances' in answer)) return answer;
  const { balances: _, ...rest } = answer;
  return rest;
}

/** The part of a result that is the same for every correct store, as text. */
export function comparable(answer: unknown, withTimes: boolean): string {
  const isLeftOut = (name: string): boolean =>
    freeMembers.has(name) || (!withTimes && timeMembers.has(name));
  return JSON.stringify(sorted(answer), (name, value: unknown) => {
    if (isLeftOut(name)) return undefined;
    return typeof value === 'bigint' ? `${value}n` : value;
  });
}

/** Sorts the members of an object by name, and represents `undefined`, which JSON omits. */
function sorted(value: unknown): unknown {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
}
