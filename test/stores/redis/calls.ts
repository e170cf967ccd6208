/** Every operation of a quota store as a short call, for suites that make each of them fail. */
import { randomUUID } from 'node:crypto';
import type { CallOptions } from '../../../src/ports/call-options.ts';
import type { QuotaLine, QuotaStore, ReserveInput } from '../../../src/ports/limits/quota-store.ts';

/** A new partition for a test. */
export function newPartition(): string {
  return `p-${randomUUID()}`;
}

/** A line that carries its limit. */
export function line(subject: string, amount: bigint): QuotaLine {
  return { subject, period: '', amount, limit: 100n };
}

/** A reserve of 10 for alice with a new id and the given changes. */
export function reserveOf(partition: string, change: Partial<ReserveInput> = {}): ReserveInput {
  const lines = [line('alice', 10n)];
  return { id: randomUUID(), partition, lines, ttlMs: 30_000, onExpire: 'release', ...change };
}

/** Each operation with its name. */
export function callsOf(
  store: QuotaStore,
  partition: string,
  options: CallOptions,
): readonly (readonly [name: string, call: () => Promise<unknown>])[] {
  const id = randomUUID();
  const lines = [line('alice', 10n)];
  const row = { subject: 'alice', period: '' };
  return [
    ['reserve', async () => store.reserve(reserveOf(partition), options)],
    ['extend', async () => store.extend([{ id, partition, ttlMs: 1_000 }], options)],
    ['settle', async () => store.settle({ id, partition, lines, basis: 'usage' }, options)],
    ['release', async () => store.release({ id, partition, lines }, options)],
    ['sweep', async () => store.sweep({ max: 10, partition, ...options })],
    ['read', async () => store.read('alice', '', partition, options)],
    ['adjust', async () => store.adjust({ id, partition, ...row, addLimit: 1n }, options)],
    ['check', async () => store.check(options)],
  ];
}
