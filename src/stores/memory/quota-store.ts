/**
 * A quota store in this process's memory. Each operation is one synchronous step, so operations
 * never interleave. Balances are lost when the process ends, and no other process sees them.
 */
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { systemClock } from '../../clock.ts';
import type { Nanos } from '../../money.ts';
import { checkedQuotaStore } from '../../ports/limits/checked-quota-store.ts';
import { defaultPartition, isPeriod, periodForm } from '../../ports/limits/quota-input.ts';
import type { QuotaStore } from '../../ports/limits/quota-store.ts';
import {
  aClock,
  aName,
  anId,
  checkMakerOptions,
  nanos,
  positive,
  strict,
} from '../../ports/set-up.ts';
import type { Ledger } from './quota-ledger.ts';
import { expireDueOf, findRow, openLedger, partitionOf, rowOf } from './quota-ledger.ts';
import {
  adjust,
  checkGrowth,
  extend,
  type Moment,
  release,
  reserve,
  settle,
  stateOf,
  sweep,
} from './quota-operations.ts';
import { Tombstones } from './tombstones.ts';

/** Initial limits, the clock of the leases, and how much is remembered. */
export interface MemoryQuotaStoreOptions {
  /** The clock of the store; leases end by its `monotonicMs`. */
  readonly clock?: Clock;
  /** How many ended reservations are remembered to answer repeats. Default: 100,000. */
  readonly maxEnded?: number;
  /** How long each ended reservation is remembered, within `maxEnded`. Default: an hour. */
  readonly endedTtlMs?: number;
  /** Initial limits of subjects whose limit is not in any key's record. */
  readonly limits?: readonly QuotaLimit[];
}

/** A limit that the store itself keeps; a limit in a key's record overrides it. */
export interface QuotaLimit {
  /** The subject that is charged, by its id. */
  readonly subject: string;
  /** Default: `''`, no period. */
  readonly period?: string;
  /** The most that it may spend in the period, in nanos. */
  readonly limitNanos: Nanos;
  /** The shard of the subject. Default: `default`. */
  readonly partition?: string;
}

const limitSchema = strict('must be a limit: a subject and limitNanos', {
  subject: anId,
  period: z.string(`must be ${periodForm}`).refine(isPeriod, `must be ${periodForm}`).optional(),
  limitNanos: nanos,
  partition: aName.optional(),
} satisfies Record<keyof QuotaLimit, z.ZodType>);

const optionsSchema = strict('must be an object', {
  clock: aClock.optional(),
  maxEnded: positive.optional(),
  endedTtlMs: positive.optional(),
  limits: z.array(limitSchema, 'must be a list of limits').optional(),
} satisfies Record<keyof MemoryQuotaStoreOptions, z.ZodType>);

/** A payment may be reported again after days, so adjustments are bounded by number, not age. */
const maxAdjustments = 100_000;

/**
 * A quota store in memory; its methods return directly, never a promise.
 *
 * Balances live as long as the store: each subject and period that was ever held keeps its row. The
 * latest 100,000 adjustments are remembered, however old, so that a repeated one counts once.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function memoryQuotaStore(options: MemoryQuotaStoreOptions = {}): QuotaStore {
  checkMakerOptions('memoryQuotaStore', optionsSchema, options);
  const { clock = systemClock(), maxEnded = 100_000, endedTtlMs = 3_600_000 } = options;
  const ledger = openLedger(maxEnded, endedTtlMs);
  const adjusted = rememberedAdjustments();
  seed(ledger, options.limits ?? []);

  return checkedQuotaStore({
    durability: 'process',
    reserve: (input) => reserve(ledger, input, momentOf(clock)),
    extend: (inputs) => {
      checkGrowth(ledger, inputs);
      const moment = momentOf(clock);
      return inputs.map((input) => extend(ledger, input, moment));
    },
    settle: (input) => settle(ledger, input, clock.monotonicMs()),
    release: (input) => release(ledger, input, clock.monotonicMs()),
    sweep: ({ max, partition }) => sweep(ledger, max, partition, clock.monotonicMs()),
    read: (subject, period, partition) => {
      const known = ledger.partitions.get(partition);
      if (known === undefined) return undefined;
      expireDueOf(ledger, known, [{ subject }], clock.monotonicMs());
      const row = findRow(known, subject, period);
      return row === undefined ? undefined : stateOf(row);
    },
    adjust: (input) => {
      const nowMs = clock.monotonicMs();
      const partition = partitionOf(ledger, input.partition);
      expireDueOf(ledger, partition, [input], nowMs);
      const id = `${input.partition}|${input.id}`;
      const replay = adjusted.has(id);
      if (!replay) {
        adjust(partition, input);
        adjusted.add(id, nowMs);
      }
      return { ...stateOf(rowOf(partition, input.subject, input.period)), replay };
    },
    check: () => ({ ok: true }),
    // There is nothing to wait for, and balances can still be read.
    close: () => {},
  });
}

/** The ids of the latest adjustments. */
function rememberedAdjustments() {
  const known = new Set<string>();
  const ids: string[] = [];
  const kept = new Tombstones(maxAdjustments, Number.POSITIVE_INFINITY, (slot) => {
    known.delete(ids[slot] ?? '');
  });
  return {
    has: (id: string) => known.has(id),
    add: (id: string, nowMs: number) => {
      known.add(id);
      ids[kept.slotOf(kept.add(nowMs))] = id;
    },
  };
}

/** Leases use the monotonic clock, so that setting the wall clock ends none of them. */
function momentOf(clock: Clock): Moment {
  const nowMs = clock.monotonicMs();
  return { nowMs, epochMs: clock.now() - nowMs };
}

function seed(ledger: Ledger, limits: readonly QuotaLimit[]): void {
  for (const { subject, period = '', limitNanos, partition = defaultPartition } of limits) {
    rowOf(partitionOf(ledger, partition), subject, period).limit = limitNanos;
  }
}
