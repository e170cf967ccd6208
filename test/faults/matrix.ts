/** Runs rows of the fault matrix as tests, and counts them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Hosts, startHosts } from './hosts.ts';
import { stubNames } from './names.ts';
import {
  type Company,
  expectedOf,
  type FaultRow,
  isFull,
  isThin,
  type Kind,
  type MountName,
  oneMount,
} from './row.ts';
import { playCase } from './scene.ts';
import { differences, verdictExpected, verdictOf } from './verdict.ts';

/** F16: no call goes by what the environment says of proxies, or every row would fail. */
const proxyVariables = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy', 'ALL_PROXY'];

const everyCompany: readonly Company[] = ['alone', 'beside', 'again'];

/** One test of a row. */
type Combination = readonly [kind: Kind, mount: MountName, company: Company];

/** What happens five times is looked at once, for rows whose time stands still. */
function isPlayed({ expected, circumstances = {} }: FaultRow, kind: Kind) {
  return (company: Company): boolean => {
    if (company !== 'again') return true;
    const { health } = expectedOf({ expected }, kind);
    const isPlain = circumstances.passes === undefined && circumstances.callsBefore === undefined;
    return isPlain && (health === 'none' || health === 'counted');
  };
}

/** Every mount, kind and company of a row. */
function everyCombination(row: FaultRow): readonly Combination[] {
  return row.mounts.flatMap((mount) =>
    row.kinds.flatMap((kind) =>
      (row.companies ?? everyCompany)
        .filter(isPlayed(row, kind))
        .filter((company) => company !== 'again' || oneMount.includes(mount))
        .map((company) => [kind, mount, company] as const),
    ),
  );
}

/**
 * Each kind of a row once at least, and each company once for every outcome that the row expects:
 * of kinds that expect the same, one is played alone, the next beside a healthy channel, and so on.
 * The mounts take turns, for a fault upstream doesn't know which adapter the caller came through.
 */
function combinationsInTurn(row: FaultRow, index: number): readonly Combination[] {
  const kindsByOutcome = new Map<string, Kind[]>();
  for (const kind of row.kinds) {
    const outcome = JSON.stringify(expectedOf(row, kind));
    kindsByOutcome.set(outcome, [...(kindsByOutcome.get(outcome) ?? []), kind]);
  }
  const mounts = isThin ? oneMount : row.mounts;
  return [...kindsByOutcome.values()]
    .flatMap((alike) => pairs(alike, row.companies ?? everyCompany, row, index))
    .map(([kind, company], at) => [kind, inTurn(mounts, index + at), company]);
}

/** Every kind and every company at least once, paired by rotation. */
function pairs(
  alike: readonly Kind[],
  companies: readonly Company[],
  row: FaultRow,
  index: number,
): readonly (readonly [Kind, Company])[] {
  const played = companies.filter(isPlayed(row, inTurn(alike, 0)));
  return Array.from({ length: Math.max(alike.length, played.length) }, (_, at) => [
    inTurn(alike, index + at),
    inTurn(played, at),
  ]);
}

function inTurn<T>(list: readonly T[], turn: number): T {
  const item = list[turn % list.length];
  if (item === undefined) throw new Error('An empty list has no turns.');
  return item;
}

/** Every combination is a test of its own; `TEST_FORM=full` plays them all. */
export function runMatrix(name: string, rows: readonly FaultRow[]): void {
  let hosts: Hosts | undefined;
  let restoreNames: () => void = () => {};
  let passed = 0;
  let failed = 0;
  const listeners = listenersOfProcess();

  beforeAll(async () => {
    hosts = await startHosts();
    for (const name of proxyVariables) process.env[name] = 'http://127.0.0.1:1';
    restoreNames = stubNames();
  });

  const play = async (row: FaultRow, kind: Kind, mount: MountName, company: Company) => {
    if (hosts === undefined) throw new Error('not started');
    const id = `${row.id} ${row.fault} ${kind} ${mount} ${company}`;
    const played = { id: Buffer.from(id).toString('hex'), row, kind, mount, company };
    const outcome = await playCase(played, hosts);
    const came = verdictOf(played, outcome);
    const expected = verdictExpected(played);
    expect(came, differences(came, expected)).toEqual(expected);
  };

  describe.concurrent.each(
    rows.map((row, index) => [`${row.id} ${row.fault}`, row, index] as const),
  )('%s', (_, row, index) => {
    const cases = isFull ? everyCombination(row) : combinationsInTurn(row, index);
    it.each(cases)('%s, %s, %s', async (kind, mount, company) => {
      failed += 1;
      await play(row, kind, mount, company);
      failed -= 1;
      passed += 1;
    });
  });

  afterAll(async () => {
    await hosts?.close();
    for (const name of proxyVariables) delete process.env[name];
    restoreNames();
    expect(listenersOfProcess()).toEqual(listeners);
    expect(hosts?.reported()).toEqual([]);
    process.stdout.write(`${name}: ${passed} passed, ${failed} failed\n`);
  });
}

function listenersOfProcess(): Readonly<Record<string, number>> {
  const names = process.eventNames().map(String);
  return Object.fromEntries(names.map((name) => [name, process.listenerCount(name)]));
}
