/**
 * The kill test: three gateways under load over one store. One of them is killed every few hundred
 * milliseconds, the database every few seconds, and replies are lost. Afterwards every nano must be
 * accounted for.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import { childScript } from '../support/child-script.ts';
import { type Draw, drawn } from '../support/seeds.ts';
import { startCallers } from './callers.ts';
import { type Database, databases, openStore } from './databases.ts';
import { readFacts } from './facts.ts';
import { type Gateways, startGateways } from './gateways.ts';
import { leaseMs } from './parameters.ts';
import { startSampler } from './sampler.ts';
import { startUpstream } from './upstream.ts';
import { judge, readUsage } from './verdict.ts';

const loadMs = Number(process.env.KILL_SECONDS ?? 120) * 1_000;
const seed = Number(process.env.KILL_SEED ?? 20_261_120);
/** Set by hand to prove that the test can fail: repeated settles are then charged again. */
const settlesTwice = process.env.KILL_MUTATION === 'settles_twice';
const processes = 3;
const callersEach = 16;

let script: string;

beforeAll(async () => {
  const path = join(import.meta.dirname, 'killed-gateway.ts');
  script = await childScript(path, 'libsql', 'pg', 'redis', 'undici', 'vitest', 'zod');
}, 60_000);

it.each(['redis', 'postgres', 'sqlite'] as const)('%s keeps its books', async (kind) => {
  const draw = drawn(seed);
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-facts-'));
  const factsFile = join(folder, 'facts.jsonl');
  onTestFinished(() => rm(folder, { recursive: true }));
  const database = await databases[kind]();
  onTestFinished(database.remove);
  const upstream = await startUpstream(seed);
  onTestFinished(upstream.close);
  const { store, usage, close } = await openStore(database.place);
  onTestFinished(close);
  const { openaiBaseUrl } = upstream;
  const config = { place: database.placeOfGateways, factsFile, openaiBaseUrl, settlesTwice };
  const gateways = await startGateways(script, processes, config);
  const calls = startCallers(processes * callersEach, gateways, processes);
  const samples = startSampler(store, calls.caller);

  const crashes = await killForAWhile(gateways, database, draw);
  await calls.stop();
  await gateways.close();
  await wait(leaseMs + 1_000);
  await sweepAll(store);
  await samples.stop();

  const facts = readFacts(factsFile);
  const log = await readUsage({ store, usage });
  const { overdrafts } = samples;
  const verdict = await judge({ store, facts, ran: upstream.ran, overdrafts, log });
  const violations = [...gateways.faults, ...samples.faults, ...verdict.violations];
  print(kind, [
    `${gateways.kills()} gateways and ${crashes} servers killed (seed ${seed})`,
    `${calls.total()} requests: ${JSON.stringify(calls.counts)}`,
    `${upstream.ran.size} ran, ${verdict.acknowledged} acknowledged, ${verdict.charged} charged`,
    `${log.records.length} in the log, ${verdict.unlogged} charged beyond it (${log.beyondNanos})`,
    `${verdict.unbilled} ran and were never billed, ${samples.total()} samples`,
    `${violations.length} violations`,
    ...violations.slice(0, 20),
  ]);

  expect(violations).toEqual([]);
  expect(verdict.charged).toBeGreaterThan(0);
});

/**
 * Kills a gateway every 150 to 500 ms and the server every 1 to 3 s, and loses a reply in between;
 * returns how often the server was killed.
 */
async function killForAWhile(gateways: Gateways, database: Database, draw: Draw): Promise<number> {
  const { crash, breakLine } = database;
  const untilMs = performance.now() + loadMs;
  let crashes = 0;
  const crashServer = async (): Promise<void> => {
    while (crash !== undefined) {
      await wait(1_000 + draw(2_000));
      if (performance.now() > untilMs) return;
      await crash();
      crashes += 1;
    }
  };
  const crashing = crashServer();
  while (performance.now() < untilMs) {
    await wait(75 + draw(175));
    breakLine();
    await wait(75 + draw(175));
    gateways.killOne(draw);
  }
  await crashing;
  return crashes;
}

async function sweepAll(store: QuotaStore): Promise<void> {
  const swept = await store.sweep({ max: 1_000 });
  if (swept.more) await sweepAll(store);
}

function print(kind: string, lines: readonly string[]): void {
  process.stdout.write(`${lines.map((line) => `${kind}: ${line}`).join('\n')}\n`);
}
