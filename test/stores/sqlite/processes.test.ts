// suite: search host
/** Several processes on one file stay exact when they race and when they are killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { builtWorker } from '../../../sqlite-worker.ts';
import { items, member } from '../../../src/json.ts';
import { integerAt, jsonAt, textAt } from '../../../src/stores/sql/columns.ts';
import { sqliteQuotaStore } from '../../../src/stores/sqlite/index.ts';
import { fakeClock } from '../../../src/testing/index.ts';
import { childScript } from '../../support/child-script.ts';
import { fileKinds, type OpenDatabase, type Scratch, scratch } from './handles.ts';

const partition = 'default';

let script: string;

beforeAll(async () => {
  script = await childScript(join(import.meta.dirname, 'worker.ts'), 'libsql');
});

it('three processes that reserve concurrently hold exactly what fits', async () => {
  const { db, path } = opened();
  give(db, 3_000n);

  const outputs = await runConcurrently(
    ['a', 'b', 'c'].map((name) => ({ path, task: 'race', ids: idsOf(name, 200), amount: '10' })),
  );

  const statuses = outputs.map(([status]) => status);
  expect(statuses.filter((status) => status === 'held')).toHaveLength(300);
  expect(statuses.filter((status) => status === 'insufficient')).toHaveLength(300);
  expect(stateOf(db)).toMatchObject({ used: 0n, held: 3_000n, inFlight: 300 });
});

it('a call that three processes settle is charged once', async () => {
  const { db, path } = opened();
  give(db, 1_000_000n);
  const ids = idsOf('shared', 100);

  const outputs = await runConcurrently(
    ['a', 'b', 'c'].map(() => ({ path, task: 'settle', ids, amount: '10' })),
  );

  const statuses = outputs.map(([status]) => status);
  expect(statuses.filter((status) => status === 'settled')).toHaveLength(100);
  expect(statuses.filter((status) => status === 'already')).toHaveLength(200);
  expect(stateOf(db)).toMatchObject({ used: 1_000n, held: 0n, inFlight: 0 });
});

const url: string = JSON.parse(builtWorker().SQLITE_WORKER ?? '');

it.each([
  ['on their own thread', {}],
  ['with threads for the database', { workerUrl: url }],
])('writers killed %s leave an exact ledger with everything they reported', async (_how, where) => {
  const { db, path } = opened();
  give(db, 1_000_000_000n);
  const reported: (readonly string[])[] = [];

  // Each is killed after a number of its lines, at any point; the other one continues.
  for (const [round, mostLines] of [40, 61, 83, 97, 110, 131].entries()) {
    const untilKilled = async (name: string, lineCount: number): Promise<void> => {
      const { child, lines } = started({ path, task: 'load', name, amount: '10', ...where });
      let received = 0;
      for await (const texts of lines) {
        reported.push(texts);
        received += 1;
        if (received === lineCount) child.kill('SIGKILL');
      }
    };
    await Promise.all([
      untilKilled(`first-worker-${round}`, mostLines),
      untilKilled(`other-worker-${round}`, 2 * mostLines),
    ]);
  }

  expectConserved(db);
  const states = new Map(holdsOf(db).map((hold) => [hold.id, hold.state]));
  for (const [word = '', id = ''] of reported) {
    if (word === 'settled' || word === 'released') expect([id, states.get(id)]).toEqual([id, word]);
  }
  const reserved = new Set(reported.filter(([word]) => word === 'reserving').map(([, id]) => id));
  expect([...states.keys()].filter((id) => !reserved.has(id))).toEqual([]);
  expect(reported.length).toBeGreaterThan(1_000);

  const later = fakeClock(Date.now() + 120_000);
  await sqliteQuotaStore({ client: db, clock: later }).sweep({ max: 1_000 });
  expectConserved(db);
  expect(stateOf(db)).toMatchObject({ held: 0n, inFlight: 0 });
});

it('processes that find no tables create them once', async () => {
  const { path } = opened();
  const fresh = `${path}-fresh`;

  const outputs = await runConcurrently(
    ['a', 'b', 'c', 'd'].map(() => ({ path: fresh, task: 'migrate', amount: '0' })),
  );

  expect(outputs.flat()).toEqual(Array.from({ length: 4 }, () => 'migrated'));
});

interface Task {
  readonly path: string;
  readonly task: 'migrate' | 'race' | 'settle' | 'load';
  readonly amount: string;
  readonly ids?: readonly string[];
  readonly name?: string;
  readonly workerUrl?: string;
}

interface Worker {
  readonly child: ChildProcess;
  readonly lines: AsyncIterable<readonly string[]>;
}

function opened(): Scratch {
  const [kind] = fileKinds;
  if (kind === undefined) throw new Error('there is always libsql');
  const found = scratch(kind);
  onTestFinished(found.cleanup);
  return found;
}

function started(task: Task): Worker {
  const child = spawn(process.execPath, [script, JSON.stringify(task)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, lines: wordsOf(child) };
}

async function* wordsOf(child: ChildProcess): AsyncGenerator<readonly string[]> {
  if (child.stdout === null) throw new Error('its stdout is a pipe');
  for await (const line of createInterface({ input: child.stdout })) yield line.split(' ');
}

/** The output of workers that start together, after all of them have exited successfully. */
async function runConcurrently(tasks: readonly Task[]): Promise<readonly (readonly string[])[]> {
  const workers = tasks.map(started);
  const exits = workers.map(({ child }) => once(child, 'exit'));
  const outputs: (readonly string[])[] = [];
  let waiting = workers.length;
  await Promise.all(
    workers.map(async ({ lines }) => {
      for await (const texts of lines) {
        if (texts[0] !== 'ready') {
          outputs.push(texts);
          continue;
        }
        waiting -= 1;
        if (waiting === 0) for (const { child } of workers) child.stdin?.write('!');
      }
    }),
  );
  expect(await Promise.all(exits)).toEqual(tasks.map(() => [0, null]));
  return outputs;
}

function idsOf(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${String(index).padStart(16, '0')}`);
}

function give(db: OpenDatabase, limit: bigint): void {
  const store = sqliteQuotaStore({ client: db });
  for (const subject of ['group', 'key']) {
    store.adjust({ id: `adjustment-${subject}-0`, partition, subject, period: '', limit });
  }
}

function stateOf(db: OpenDatabase): unknown {
  return sqliteQuotaStore({ client: db }).read('key', '', partition);
}

interface Hold {
  readonly id: string;
  readonly state: string;
  /** The amounts of the first line: held, and charged. */
  readonly amount: bigint;
  readonly charged: bigint;
}

function holdsOf(db: OpenDatabase): readonly Hold[] {
  const rows: unknown = db.prepare('SELECT id, state, lines, charged FROM tollgate_hold').all();
  return (Array.isArray(rows) ? rows : []).map((row: unknown) => ({
    id: textAt(row, 'id'),
    state: textAt(row, 'state'),
    amount: BigInt(String(member(items(jsonAt(row, 'lines'))[0], 'amount') ?? 0)),
    charged: BigInt(String(items(jsonAt(row, 'charged'))[0] ?? 0)),
  }));
}

/** Checks by the rows themselves that balances are the sums of their reservations. */
function expectConserved(db: OpenDatabase): void {
  const holds = holdsOf(db);
  const held = holds.filter(({ state }) => state === 'held');
  const leases = db.prepare('SELECT count(*) AS leases FROM tollgate_lease').all();
  const expected = {
    used: holds.reduce((sum, { charged }) => sum + charged, 0n),
    held: held.reduce((sum, { amount }) => sum + amount, 0n),
    inFlight: held.length,
  };
  for (const subject of ['group', 'key']) {
    expect(sqliteQuotaStore({ client: db }).read(subject, '', partition)).toMatchObject(expected);
  }
  expect(integerAt(Array.isArray(leases) ? leases[0] : undefined, 'leases')).toBe(2 * held.length);
}
