/**
 * Renews the leases of running calls, all of one store in one batch, and lets a hold grow that its
 * stream has nearly used up.
 */
import type { EventListener } from '../events.ts';
import type { Nanos } from '../money.ts';
import type { ExtendInput, ExtendResult, QuotaStore } from '../ports/quota-store.ts';
import { isExtendResults } from './port-answers.ts';
import type { PortGuard } from './port-guard.ts';
import type { Settlement } from './settlement.ts';

/** A hold that a running call keeps alive. */
export interface KeptHold {
  readonly settlement: Settlement;
  /** How much of it the reply has used up so far. */
  readonly observed: () => Nanos;
  /** The store grants no more. */
  refused: boolean;
  /** The store has no such hold any more: there is nothing to renew. */
  lapsed: boolean;
}

/** A stream that has used this share of its hold asks for as much again. */
const growAtPercent = 60n;

/** Notes in each hold what the store says. Never rejects: a store that is down is asked again. */
export async function renewLeases(
  holds: readonly KeptHold[],
  quota: QuotaStore,
  leaseMs: number,
  guard: PortGuard,
  emit: EventListener,
): Promise<void> {
  try {
    const asked = holds.map((hold) => ({ hold, add: growthOf(hold) }));
    const inputs = asked.map(({ hold, add }) => extendInput(hold, add, leaseMs));
    const results = await guard.ask('quota', 'extend', isExtendResults(inputs.length), (options) =>
      quota.extend(inputs, options),
    );
    for (const [index, { hold, add }] of asked.entries()) {
      noteAnswer(hold, add, results[index], emit);
    }
  } catch {
    // Reported by the guard; the lease outlives two more tries.
  }
}

/** What to add to a hold, or undefined where it is still ample. */
function growthOf({ settlement, observed }: KeptHold): Nanos | undefined {
  const held = settlement.heldNanos();
  const isAmple = observed() * 100n < held * growAtPercent;
  return held === 0n || isAmple ? undefined : settlement.reservation.nanos;
}

/** Renews a lease, and adds to every line that holds money. */
export function extendInput(
  { settlement }: Pick<KeptHold, 'settlement'>,
  add: Nanos | undefined,
  ttlMs: number,
): ExtendInput {
  const { id, partition, lines, nanos } = settlement.reservation;
  const grow =
    add === undefined ? {} : { add: lines.map(({ amount }) => (amount === nanos ? add : 0n)) };
  return { id, partition, ttlMs, ...grow };
}

function noteAnswer(
  hold: KeptHold,
  add: Nanos | undefined,
  result: ExtendResult | undefined,
  emit: EventListener,
): void {
  const { settlement } = hold;
  if (result?.status === 'held' && add !== undefined) settlement.grown(add);
  hold.refused = result?.status === 'insufficient';
  // A hold that its own call has ended meanwhile is gone too, as it should be.
  if (result?.status !== 'gone' || !settlement.isOpen()) return;
  hold.lapsed = true;
  emit({ type: 'hold_lapsed', requestId: settlement.requestId, reason: result.as });
}
