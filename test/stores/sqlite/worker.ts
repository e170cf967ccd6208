/**
 * A process that drives a quota store on a shared file as a gateway does, and says what it was told
 * before it goes on: one line on stdout for each answer that it has.
 */
import { readSync, writeSync } from 'node:fs';
import Libsql from 'libsql';
import { z } from 'zod';
import { migrateSqlite, sqliteQuotaStore } from '../../../src/stores/sqlite/index.ts';

/** What a worker is told to do, as JSON in its first argument. */
const config = z
  .object({
    path: z.string(),
    /** `race`: reserves under these ids, and holds. `load`: whole calls until it is killed. */
    task: z.enum(['migrate', 'race', 'settle', 'load']),
    ids: z.array(z.string()).default([]),
    name: z.string().default('worker'),
    amount: z.coerce.bigint(),
  })
  .parse(JSON.parse(process.argv[2] ?? ''));

const { amount } = config;
const partition = 'default';
const lines = [
  { subject: 'group', period: '', amount },
  { subject: 'key', period: '', amount },
];
const db = new Libsql(config.path);
const store = sqliteQuotaStore({ client: db });
const patience = { timeoutMs: 10_000 };

/** Straight to the pipe: what is buffered dies with the process. */
function say(...words: readonly string[]): void {
  writeSync(1, `${words.join(' ')}\n`);
}

async function reserve(id: string): Promise<string> {
  const input = { id, partition, lines, ttlMs: 60_000, onExpire: 'release' } as const;
  return (await store.reserve(input, patience)).status;
}

async function settle(id: string): Promise<string> {
  return (await store.settle({ id, partition, lines, basis: 'usage' }, patience)).status;
}

async function load(): Promise<never> {
  for (let count = 0; ; count += 1) {
    const id = `${config.name}-${String(count).padStart(12, '0')}`;
    say('reserving', id);
    if ((await reserve(id)) !== 'held') throw new Error('not held');
    await store.extend([{ id, partition, ttlMs: 60_000, add: [1n, 1n] }], patience);
    if (count % 3 === 0) {
      await store.release({ id, partition, lines }, patience);
      say('released', id);
      continue;
    }
    say('settling', id);
    say(await settle(id), id);
  }
}

if (config.task === 'load') await load();
// All that race begin at once: when they are told.
say('ready');
readSync(0, Buffer.alloc(1));
if (config.task === 'migrate') {
  migrateSqlite(db);
  say('migrated');
}
for (const id of config.ids) {
  const status = await reserve(id);
  say(status, id);
  if (config.task === 'settle') say(await settle(id), id);
}
