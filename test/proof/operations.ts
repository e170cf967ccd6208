/**
 * What can be asked of a quota store, as data: so that the same question can be put to a store, to
 * the reference model, and into a recorded history.
 */
import type {
  AdjustInput,
  ExtendInput,
  QuotaStore,
  ReleaseInput,
  ReserveInput,
  SettleInput,
} from '../../src/ports/quota-store.ts';

/** One question to a quota store. */
export type Operation =
  | { readonly op: 'reserve'; readonly input: ReserveInput }
  | { readonly op: 'extend'; readonly input: readonly ExtendInput[] }
  | { readonly op: 'settle'; readonly input: SettleInput }
  | { readonly op: 'release'; readonly input: ReleaseInput }
  | { readonly op: 'adjust'; readonly input: AdjustInput }
  | { readonly op: 'read'; readonly input: RowName }
  | { readonly op: 'sweep'; readonly input: { readonly max: number; readonly partition: string } };

/** Names a row. */
export interface RowName {
  readonly subject: string;
  readonly period: string;
  readonly partition: string;
}

/** Puts the question; rejects where the store does. */
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

/** A limit that records state is not the operator's to set, and a store says so by an error. */
async function adjusted(store: QuotaStore, input: AdjustInput): Promise<unknown> {
  try {
    return await store.adjust(input);
  } catch (error) {
    if (error instanceof RangeError) return 'refused';
    throw error;
  }
}

/** What a store may answer as it likes: how far a version moves, how much a sweep found left. */
const freeMembers: ReadonlySet<string> = new Set(['version', 'expired']);
/** What depends on the time of the database, which no test can stop. */
const timeMembers: ReadonlySet<string> = new Set(['expiresAtMs']);

/** The part of an answer that every sound store gives alike, as text. */
export function comparable(answer: unknown, withTimes: boolean): string {
  const isLeftOut = (name: string): boolean =>
    freeMembers.has(name) || (!withTimes && timeMembers.has(name));
  return JSON.stringify(sorted(answer), (name, value: unknown) => {
    if (isLeftOut(name)) return undefined;
    return typeof value === 'bigint' ? `${value}n` : value;
  });
}

/** The members of an object in the order of their names; `undefined` has no text otherwise. */
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
