/**
 * Records the operations of several concurrent clients on one store and their results: random
 * operations from a seed, on one subject, with ids that the clients share.
 */
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import { type Draw, drawn } from '../support/seeds.ts';
import type { Invocation } from './linearisable.ts';
import { type Operation, send } from './operations.ts';

/** The parameters of a history. */
export interface HistoryPlan {
  readonly seed: number;
  /** A new partition; at most 40 characters, because ids contain it. */
  readonly partition: string;
  readonly clients: number;
  readonly operationsEach: number;
  /** The percentage of operations whose reply is ignored. */
  readonly lostPercent: number;
}

/** Runs the plan, with its clients spread over these stores, which share their data. */
export async function recordHistory(
  stores: readonly QuotaStore[],
  plan: HistoryPlan,
): Promise<readonly Invocation[]> {
  const history: Invocation[] = [];
  const late: Promise<unknown>[] = [];
  let time = 0;

  const client = async (number: number): Promise<void> => {
    const draw = drawn(plan.seed * 1_000 + number);
    const store = stores[number % stores.length];
    if (store === undefined) throw new RangeError('There is no store to ask.');
    for (let count = 0; count < plan.operationsEach; count += 1) {
      const operation = drawOperation(draw, plan.partition, count);
      const invokedAt = ++time;
      const pending = send(store, operation);
      if (draw(100) < plan.lostPercent) {
        // A client whose reply is lost continues immediately, as after a timeout; the store may run
        // the operation later.
        late.push(pending.catch(() => undefined));
        history.push({ client: number, operation, invokedAt, returned: undefined });
        continue;
      }
      const answer = await pending;
      history.push({ client: number, operation, invokedAt, returned: { at: ++time, answer } });
    }
  };

  await Promise.all(Array.from({ length: plan.clients }, (_, number) => client(number)));
  await Promise.all(late);
  return history;
}

const subject = 's';
const period = '';
/** No lease ends in a history. */
const ttlMs = 900_000;

/**
 * Clients proceed at about the same speed, so that they mostly use the same ids at the same time.
 */
function drawOperation(draw: Draw, partition: string, count: number): Operation {
  const id = `reservation-${count - (count % 4) + draw(6)}-${partition}`;
  const amount = BigInt(draw(40));
  const lines = [{ subject, period, amount }];
  const kind = draw(10);
  if (kind < 4) {
    // Different limits, as from processes of which not all have the latest record.
    const limit = draw(3) === 0 ? 30n : 60n;
    const input = [{ subject, period, amount: 10n, limit }];
    return { op: 'reserve', input: { id, partition, lines: input, ttlMs, onExpire: 'release' } };
  }
  if (kind < 6) return { op: 'settle', input: { id, partition, lines, basis: 'usage' } };
  if (kind < 7) return { op: 'release', input: { id, partition, lines } };
  if (kind < 8) {
    const idle = draw(3) === 0;
    return { op: 'extend', input: [{ id, partition, ttlMs, add: [amount / 4n], idle }] };
  }
  if (kind < 9) return { op: 'read', input: { subject, period, partition } };
  const change = { id: `adjustment-${draw(9)}-${partition}`, addLimit: BigInt(draw(60)) };
  return { op: 'adjust', input: { ...change, partition, subject, period } };
}
