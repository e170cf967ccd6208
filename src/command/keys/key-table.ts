/** Shows keys: as a table for people, or as JSON. */
import type { KeySummary } from '../../admin/key-summary.ts';
import { formatMoney } from '../../prices/amount.ts';
import type { Given } from '../command.ts';
import { printJson, table } from '../output.ts';
import type { OpenStores } from '../with-stores.ts';

/** A key as the command shows it: balances in the memory of another process are left out. */
export type ShownKey = Omit<KeySummary, 'lastUsedMs'>;

/** The part of a key that is known to this process. */
export function shownKey(
  { lastUsedMs: _, ...key }: KeySummary,
  { stores: { choice } }: OpenStores,
): ShownKey {
  return choice.quota === 'memory' ? { ...key, balances: undefined } : key;
}

/** Keys with the balance of their main subject, a line each. */
export function keyTable(keys: readonly ShownKey[], nowMs: number): string {
  return table(
    ['KEY', 'GROUP', 'STATE', 'PERIOD', ' LIMIT', ' USED', ' HELD', ' LEFT'],
    keys.map((key) => {
      const main = key.balances?.find(({ isMain }) => isMain);
      const amounts = [main?.limitNanos, main?.usedNanos, main?.heldNanos, main?.remainingNanos];
      return [
        ...[key.id, key.group, stateOf(key, nowMs), main?.period ?? '-'],
        ...amounts.map((nanos) => (nanos === undefined ? '-' : formatMoney(nanos))),
      ];
    }),
    'No keys match. npx tollgate keys issue makes one.',
  );
}

function stateOf({ disabled, expiresAtMs, isGroupServed }: ShownKey, nowMs: number): string {
  if (disabled) return 'disabled';
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) return 'expired';
  if (isGroupServed === false) return 'no model';
  if (expiresAtMs === undefined) return 'enabled';
  return `until ${new Date(expiresAtMs).toISOString().slice(0, 10)}`;
}

/** Prints a changed key as JSON, or a sentence about it. */
export function printChange({ around, json }: Given, key: ShownKey, sentence: string): void {
  if (json) printJson(around, key);
  else around.out(`${sentence}\n`);
}
