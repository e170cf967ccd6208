/** Adds money to a subject of a key or of an owner. */
import { hash } from 'node:crypto';
import type { ApiKey, QuotaSubject } from '../../ports/keys/key-store.ts';
import { defaultPartition, periodName } from '../../ports/limits/quota-input.ts';
import type { AdjustInput } from '../../ports/limits/quota-store.ts';
import { invalid } from '../admin-error.ts';
import type { AdminDeps } from '../deps.ts';

/** Money that is added to a subject of a key, for its current period. */
export interface TopUp {
  /**
   * 1 to 200 characters, such as an invoice number. Top-ups of one subject with the same id count
   * once, in all periods.
   */
  readonly id: string;
  /** May be negative. */
  readonly amountNanos: bigint;
  /** Default: the key's main subject. */
  readonly subject?: string;
}

export function checkTopUp({ id }: Pick<TopUp, 'id'>): void {
  if (typeof id === 'string' && id.length >= 1 && id.length <= 200) return;
  throw invalid('id', 'id must be text of 1 to 200 characters.');
}

type Charged = Pick<ApiKey, 'quotaPartition'>;

/** Returns whether the top-up was added before. */
export async function addToSubject(
  deps: AdminDeps,
  key: Charged,
  subject: QuotaSubject,
  { id, amountNanos }: Pick<TopUp, 'id' | 'amountNanos'>,
): Promise<boolean> {
  // JSON keeps the parts apart, whatever characters they contain.
  const digest = hash('sha256', JSON.stringify([subject.id, id]), 'base64url');
  const row = { ...rowOf(key, subject, deps), id: `topup_${digest}` };
  return (await deps.stores.quota.adjust({ ...row, addLimit: amountNanos })).replay;
}

export function rowOf(
  key: Charged,
  charged: QuotaSubject,
  { clock }: AdminDeps,
): Pick<AdjustInput, 'partition' | 'subject' | 'period'> {
  const partition = key.quotaPartition ?? defaultPartition;
  return { partition, subject: charged.id, period: periodName(charged, clock.now()) };
}
