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

/** What happens five times is looked at once, for rows whose time stands still. */
function isPlayed({ expected, circumstances = {} }: FaultRow, mount: MountName, kind: Kind) {
  return (company: Company): boolean => {
    if (company !== 'again') return true;
    const { health } = expectedOf({ expected }, kind);
    const isPlain = circumstances.passes === undefined && circumstances.callsBefore === undefined;
    return mount === 'node:http' && isPlain && (health === 'none' || health === 'counted');
  };
}

/** One mount where the matrix is thin, all where it is full; else that one and another in turn. */
function mountsOf({ mounts }: FaultRow, index: number): readonly MountName[] {
  if (isFull) return mounts;
  const others = mounts.filter((mount) => !oneMount.includes(mount));
  const other = isThin ? undefined : others[index % others.length];
  return mounts.filter((mount) => oneMount.includes(mount) || mount === other);
}

/** Every row, kind, mount and company is a test of its own. */
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
    const cases = mountsOf(row, index).flatMap((mount) =>
      row.kinds.flatMap((kind) =>
        (row.companies ?? everyCompany)
          .filter(isPlayed(row, mount, kind))
          .map((company) => [kind, mount, company] as const),
      ),
    );
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
