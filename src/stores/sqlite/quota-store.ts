/**
 * A quota store in SQLite: durable, and exact over any number of processes on one machine. Each
 * operation is one transaction that holds the file's write lock from its beginning.
 */
import type { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import type { CallOptions } from '../../ports/call-options.ts';
import { checkedQuotaStore } from '../../ports/limits/checked-quota-store.ts';
import type { QuotaStore } from '../../ports/limits/quota-store.ts';
import { checkMakerOptions, positive, strict } from '../../ports/set-up.ts';
import { isDatabase, performerOf, type SqliteClient } from './database.ts';
import { handleAndClock, handleRemedy } from './handle-check.ts';
import type { InputOf, OperationName } from './operations.ts';

/** The database, the clock of the leases, and how long ended reservations are remembered. */
export interface SqliteQuotaStoreOptions {
  /** Open, migrated, and not inside a transaction when the store is called. */
  readonly client: SqliteClient;
  /** The clock by which leases end. Default: the machine's clock, which all processes share. */
  readonly clock?: Clock;
  /** How long an ended reservation is remembered to answer repeats. Default: an hour. */
  readonly endedTtlMs?: number;
}

const optionsSchema = strict('must be an object', {
  ...handleAndClock,
  endedTtlMs: positive.optional(),
} satisfies Record<keyof SqliteQuotaStoreOptions, z.ZodType>);

/**
 * A quota store over a migrated database; its methods return directly, never a promise. Adjustments
 * are remembered forever, since a payment may be reported again after days.
 *
 * @throws ConfigurationError that names the option and says how to fix it; StoreUnavailable where
 *   the database can't be read
 */
export function sqliteQuotaStore(options: SqliteQuotaStoreOptions): QuotaStore {
  checkMakerOptions('sqliteQuotaStore', optionsSchema, options, handleRemedy);
  const { client, clock = systemClock(), endedTtlMs = 3_600_000 } = options;
  const { perform } = performerOf(client);
  const isInFile = isDatabase(client)
    ? client.isInFile
    : perform('isInFile', undefined, { nowMs: 0 });
  const run = <Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    callOptions?: CallOptions,
  ) => perform(name, input, { ...callOptions, nowMs: clock.now() });

  return checkedQuotaStore({
    durability: isInFile === true ? 'durable' : 'process',
    reserve: (input, callOptions) => run('reserve', input, callOptions),
    extend: (inputs, callOptions) =>
      inputs.length === 0 ? [] : run('extend', inputs, callOptions),
    settle: (input, callOptions) => run('settle', input, callOptions),
    release: (input, callOptions) => run('release', input, callOptions),
    sweep: ({ max, partition, ...callOptions }) =>
      run('sweep', { max, partition, endedTtlMs }, callOptions),
    read: (subject, period, partition, callOptions) =>
      run('state', { subject, period, partition }, callOptions),
    adjust: (input, callOptions) => run('adjust', input, callOptions),
    check: (callOptions) => run('check', undefined, callOptions),
    // The host closes its handle, and there is nothing to wait for.
    close: () => {},
  });
}
