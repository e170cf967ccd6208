/** Calls of a quota store in another thread, and what their callers were reported. */
import { expect } from 'vitest';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';

export const partition = 'default';
const line = { subject: 'alice', period: '', amount: 10n };
const limited = { ...line, limit: 1_000_000n };

export const idOf = (name: string): string => name.padEnd(20, '-');

export function reserve(store: QuotaStore, name: string, options: object = {}): Promise<string> {
  const input = { id: idOf(name), partition, lines: [limited], ttlMs: 30_000 };
  return Promise.resolve(store.reserve({ ...input, onExpire: 'release' }, options)).then(
    ({ status }) => status,
  );
}

export function settle(store: QuotaStore, name: string): Promise<string> {
  const input = { id: idOf(name), partition, lines: [line], basis: 'usage' } as const;
  return Promise.resolve(store.settle(input)).then(({ status }) => status);
}

export const unavailable = (outcome: 'not_done' | 'unknown'): unknown =>
  expect.objectContaining({ name: 'StoreUnavailable', outcome });

/** What a call has come to, as its caller was reported. */
export type Reported = 'done' | 'not_done' | 'unknown';

export async function reportedOf(call: Promise<string>): Promise<Reported> {
  try {
    await call;
    return 'done';
  } catch (error) {
    expect(error).toMatchObject({ name: 'StoreUnavailable' });
    const outcome: unknown = Reflect.get(Object(error), 'outcome');
    return outcome === 'not_done' ? 'not_done' : 'unknown';
  }
}
