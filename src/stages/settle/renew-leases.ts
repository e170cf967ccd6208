/**
 * Renews the leases of running calls, in one batch for each store, and grows the holds that their
 * streams have nearly used up.
 */
import type { Nanos } from '../../money.ts';
import type { ExtendInput, ExtendResult, QuotaStore } from '../../ports/limits/quota-store.ts';
import { isExtendResults } from '../ports/port-answers.ts';
import type { PortCalls } from '../ports/port-calls.ts';
import type { Settlement } from './settlement.ts';

export interface KeptHold {
  readonly settlement: Settlement;
  readonly observed: () => Nanos;
  /** The store refused to grow the hold. */
  refused: boolean;
  /** The store no longer has the hold, so there is nothing to renew. */
  lapsed: boolean;
}

/** A hold of which this share is used grows by its initial amount. */
const growAtPercent = 60n;

/** Never rejects: a store that is down is asked again. */
export async function renewLeases(
  holds: readonly KeptHold[],
  quota: QuotaStore,
  leaseMs: number,
  ports: PortCalls,
): Promise<void> {
  try {
    const growths = holds.map((hold) => ({ hold, add: growthOf(hold) }));
    const inputs = growths.map(({ hold, add }) => extendInput(hold, add, leaseMs));
    const results = await ports.ask('quota', 'extend', isExtendResults(inputs.length), (options) =>
      quota.extend(inputs, options),
    );
    for (const [index, { hold, add }] of growths.entries()) {
      applyAnswer(hold, add, results[index]);
    }
  } catch {
    // `ports.ask` has reported it; the lease is long enough for two more attempts.
  }
}

function growthOf({ settlement, observed }: KeptHold): Nanos | undefined {
  const held = settlement.heldNanos;
  const isSufficient = observed() * 100n < held * growAtPercent;
  return held === 0n || isSufficient ? undefined : settlement.reservation.nanos;
}

/** The input that renews a lease and adds to every line that holds money. */
export function extendInput(
  { settlement }: Pick<KeptHold, 'settlement'>,
  add: Nanos | undefined,
  ttlMs: number,
): ExtendInput {
  const { id, partition, subjects } = settlement.reservation;
  const grow =
    add === undefined
      ? {}
      : { add: subjects.map(({ onlyCountsCalls }) => (onlyCountsCalls ? 0n : add)) };
  return { id, partition, ttlMs, ...grow };
}

function applyAnswer(
  hold: KeptHold,
  add: Nanos | undefined,
  result: ExtendResult | undefined,
): void {
  const { settlement } = hold;
  if (result?.status === 'held' && add !== undefined) settlement.addHeld(add);
  hold.refused = result?.status === 'insufficient';
  // A hold that its own call has ended meanwhile is `gone` too; that is expected.
  if (result?.status !== 'gone' || !settlement.isOpen()) return;
  hold.lapsed = true;
  settlement.emit({ type: 'hold_lapsed', requestId: settlement.requestId, reason: result.as });
}
