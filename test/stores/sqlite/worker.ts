/**
 * A process that uses a quota store on a shared file as a gateway does, and prints each result on
 * stdout before it continues.
 */
import { readSync, writeSync } from 'node:fs';
import Libsql from 'libsql';
import { z } from 'zod';
import { migrateSqlite, openSqlite, sqliteQuotaStore } from '../../../src/stores/sqlite/index.ts';

/** The worker's task, as JSON in its first argument. */
const config = z
  .object({
    path: z.string(),
    /** `race`: reserves with these ids. `load`: runs whole calls until it is killed. */
    task: z.enum(['migrate', 'race', 'settle', 'load']),
    ids: z.array(z.string()).default([]),
    name: z.string().default('worker'),
    amount: z.coerce.bigint(),
    /** Runs the database in threads, with this worker. */
    workerUrl: z.string().optional(),
  })
  .parse(JSON.parse(process.argv[2] ?? ''));

const { amount } = config;
const partition = 'default';
const lines = [
  { subject: 'group', period: '', amount },
  { subject: 'key', period: '', amount },
];
const { workerUrl } = config;
const db =
  workerUrl === undefined
    ? new Libsql(config.path)
    : await openSqlite(config.path, { driver: 'libsql', workerUrl: new URL(workerUrl) });
const store = sqliteQuotaStore({ client: db });
const options = { timeoutMs: 10_000 };

/** Written synchronously, since buffered output is lost when the process is killed. */
function print(...texts: readonly string[]): void {
  writeSync(1, `${texts.join(' ')}\n`);
}

async function reserve(id: string): Promise<string> {
  const input = { id, partition, lines, ttlMs: 60_000, onExpire: 'release' } as const;
  return (await store.reserve(input, options)).status;
}

async function settle(id: string): Promise<string> {
  return (await store.settle({ id, partition, lines, basis: 'usage' }, options)).status;
}

async function load(caller: string): Promise<never> {
  for (let count = 0; ; count += 1) {
    const id = `${config.name}-${caller}-${String(count).padStart(12, '0')}`;
    print('reserving', id);
    if ((await reserve(id)) !== 'held') throw new Error('not held');
    await store.extend([{ id, partition, ttlMs: 60_000, add: [1n, 1n] }], options);
    if (count % 3 === 0) {
      await store.release({ id, partition, lines }, options);
      print('released', id);
      continue;
    }
    print('settling', id);
    print(await settle(id), id);
  }
}

if (config.task === 'load') {
  // Several callers, whose operations share commits.
  const callers = workerUrl === undefined ? 1 : 4;
  await Promise.all(Array.from({ length: callers }, (_, caller) => load(`${caller}`)));
}
// Racing workers wait for a signal, so that they start together.
print('ready');
readSync(0, Buffer.alloc(1));
if (config.task === 'migrate') {
  await migrateSqlite(db);
  print('migrated');
}
for (const id of config.ids) {
  const status = await reserve(id);
  print(status, id);
  if (config.task === 'settle') print(await settle(id), id);
}
