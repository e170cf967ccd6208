/**
 * Quota in this process's memory. Each operation is one synchronous step, so that no two of them
 * can meet; it survives nothing and serves one process.
 */
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { systemClock } from '../../clock.ts';
import type { Nanos } from '../../money.ts';
import {
  checkAdjust,
  checkEnding,
  checkExtend,
  checkReserve,
  checkRow,
  checkSweep,
  defaultPartition,
  isPeriod,
} from '../../ports/quota-input.ts';
import type { QuotaStore } from '../../ports/quota-store.ts';
import { aClock, aName, checkMakerOptions, nanos, positive } from '../../ports/set-up.ts';
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
import { tombstones } from './tombstones.ts';

/** Limits to begin with, the clock of the leases, and how much is remembered. */
export interface MemoryQuotaStoreOptions {
  /** The store's own clock; leases end by its `monotonicMs`. */
  readonly clock?: Clock;
  /** How many ended reservations are remembered for repeats; 100,000 where left out. */
  readonly maxEnded?: number;
  /** How long each is remembered, if there is room; an hour where left out. */
  readonly endedTtlMs?: number;
  /** Limits to begin with, of subjects whose limit no key's record states. */
  readonly limits?: readonly QuotaLimit[];
}

/** A limit that the store itself keeps; one that a key's record states takes its place. */
export interface QuotaLimit {
  readonly subject: string;
  /** `''`, for no period, where left out. */
  readonly period?: string;
  readonly limitNanos: Nanos;
  readonly partition?: string;
}

const limitSchema = z.strictObject(
  {
    subject: aName,
    period: z
      .string("must be '', 'YYYY-MM' or 'YYYY-MM-DD'")
      .refine(isPeriod, "must be '', 'YYYY-MM' or 'YYYY-MM-DD'")
      .optional(),
    limitNanos: nanos,
    partition: aName.optional(),
  } satisfies Record<keyof QuotaLimit, z.ZodType>,
  'must be a limit: a subject and limitNanos',
);

const optionsSchema = z.strictObject(
  {
    clock: aClock.optional(),
    maxEnded: positive.optional(),
    endedTtlMs: positive.optional(),
    limits: z.array(limitSchema, 'must be a list of limits').optional(),
  } satisfies Record<keyof MemoryQuotaStoreOptions, z.ZodType>,
  'must be an object',
);

/** A payment may be told again after days, so these are bounded by their number alone. */
const mostAdjustments = 100_000;

/**
 * A quota store in memory; answers at once, never by promise.
 *
 * Balances live as long as the store: each subject and period that was ever held keeps its row. Of
 * adjustments the latest 100,000 are remembered, however old: one that is told again counts once.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function memoryQuotaStore(options: MemoryQuotaStoreOptions = {}): QuotaStore {
  checkMakerOptions('memoryQuotaStore', optionsSchema, options);
  const { clock = systemClock(), maxEnded = 100_000, endedTtlMs = 3_600_000 } = options;
  const ledger = openLedger(maxEnded, endedTtlMs);
  const adjusted = new Set<string>();
  const adjustedIds: string[] = [];
  const adjustments = tombstones({
    limit: mostAdjustments,
    maxAgeMs: Number.POSITIVE_INFINITY,
    forget: (slot) => adjusted.delete(adjustedIds[slot] ?? ''),
  });
  seed(ledger, options.limits ?? []);

  return {
    durability: 'process',
    reserve: (input) => {
      checkReserve(input);
      return reserve(ledger, input, momentOf(clock));
    },
    extend: (inputs) => {
      checkExtend(inputs);
      checkGrowth(ledger, inputs);
      const moment = momentOf(clock);
      return inputs.map((input) => extend(ledger, input, moment));
    },
    settle: (input) => {
      checkEnding(input);
      return settle(ledger, input, clock.monotonicMs());
    },
    release: (input) => {
      checkEnding(input);
      return release(ledger, input, clock.monotonicMs());
    },
    sweep: (bounds) => {
      checkSweep(bounds);
      return sweep(ledger, bounds.max, bounds.partition, clock.monotonicMs());
    },
    read: (subject, period, partition) => {
      checkRow(subject, period, partition);
      const place = ledger.partitions.get(partition);
      if (place === undefined) return undefined;
      expireDueOf(ledger, place, [{ subject }], clock.monotonicMs());
      const row = findRow(place, subject, period);
      return row === undefined ? undefined : stateOf(row);
    },
    adjust: (input) => {
      checkAdjust(input);
      const nowMs = clock.monotonicMs();
      const partition = partitionOf(ledger, input.partition);
      expireDueOf(ledger, partition, [input], nowMs);
      const id = `${input.partition}|${input.id}`;
      if (!adjusted.has(id)) {
        adjust(partition, input);
        adjusted.add(id);
        adjustedIds[adjustments.slotOf(adjustments.add(nowMs))] = id;
      }
      return stateOf(rowOf(partition, input.subject, input.period));
    },
    check: () => ({ ok: true }),
    // Nothing is pending, ever; what was charged can still be read.
    close: () => {},
  };
}

/** The wall clock is only for what is answered: whoever sets it must end no lease. */
function momentOf(clock: Clock): Moment {
  const nowMs = clock.monotonicMs();
  return { nowMs, epochMs: clock.now() - nowMs };
}

function seed(ledger: Ledger, limits: readonly QuotaLimit[]): void {
  for (const { subject, period = '', limitNanos, partition = defaultPartition } of limits) {
    rowOf(partitionOf(ledger, partition), subject, period).limit = limitNanos;
  }
}
