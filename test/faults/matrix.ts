/** Runs rows of the fault matrix as tests, and counts them. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { comparisonExpected, comparisonOf, differences } from './comparison.ts';
import { type Hosts, startHosts } from './hosts.ts';
import { embeddingKinds, type Kind } from './kinds.ts';
import { stubNames } from './names.ts';
import {
  type ChannelSetup,
  expectedOf,
  type FaultRow,
  isFull,
  isThin,
  type MountName,
  oneMount,
} from './rows/row.ts';
import { runCase } from './run-case.ts';

/** The gateway must ignore proxy variables; if it did not, every row would fail. */
const proxyVariables = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy', 'ALL_PROXY'];

const allChannelSetups: readonly ChannelSetup[] = ['single', 'with_second', 'repeated'];

/** One test of a row. */
type Combination = readonly [kind: Kind, mount: MountName, channelSetup: ChannelSetup];

/** `repeated` is only for rows that need neither advancing time nor calls before. */
function isPlayed({ expected, circumstances = {} }: FaultRow, kind: Kind) {
  return (channelSetup: ChannelSetup): boolean => {
    if (channelSetup !== 'repeated') return true;
    const { health } = expectedOf({ expected }, kind);
    const isPlain = circumstances.advances === undefined && circumstances.callsBefore === undefined;
    return isPlain && (health === 'none' || health === 'counted');
  };
}

/** Every mount, kind and channel setup of a row. */
function everyCombination(row: FaultRow): readonly Combination[] {
  return row.mounts.flatMap((mount) =>
    row.kinds.flatMap((kind) =>
      (row.channelSetups ?? allChannelSetups)
        .filter(isPlayed(row, kind))
        .filter((channelSetup) => channelSetup !== 'repeated' || oneMount.includes(mount))
        .map((channelSetup) => [kind, mount, channelSetup] as const),
    ),
  );
}

/**
 * Each kind of a row at least once, and each channel setup once for every outcome that the row
 * expects: of kinds that expect the same, one runs with a single channel, the next with a second,
 * healthy one, and so on. The two kinds of the Responses API take turns if they expect the same,
 * and so do those of the Messages API and of embeddings. The mounts rotate, because a fault of an
 * upstream does not depend on the adapter.
 */
function rotatedCombinations(row: FaultRow, index: number): readonly Combination[] {
  const kindsByOutcome = new Map<string, Kind[]>();
  for (const kind of row.kinds) {
    const outcome = JSON.stringify(expectedOf(row, kind));
    kindsByOutcome.set(outcome, [...(kindsByOutcome.get(outcome) ?? []), kind]);
  }
  const mounts = isThin ? oneMount : row.mounts;
  return [...kindsByOutcome.values()]
    .map((sameOutcome) => inTurns(sameOutcome, index))
    .flatMap((sameOutcome) => pairs(sameOutcome, row.channelSetups ?? allChannelSetups, row, index))
    .map(([kind, channelSetup], at) => [kind, itemInRotation(mounts, index + at), channelSetup]);
}

/** Kinds that the gateway serves by the same code, so that one of them is enough for a fault. */
const takingTurns: readonly (readonly Kind[])[] = [
  ['responses', 'responses_stream'],
  ['messages', 'messages_stream'],
  embeddingKinds,
];

/** Of kinds that take turns and are all there, leaves out those whose turn it is not. */
function inTurns(alike: readonly Kind[], index: number): readonly Kind[] {
  const out = takingTurns
    .filter((all) => all.every((kind) => alike.includes(kind)))
    .flatMap((all) => all.filter((kind) => kind !== itemInRotation(all, index + 1)));
  return alike.filter((kind) => !out.includes(kind));
}

/** Every kind and every channel setup at least once, paired by rotation. */
function pairs(
  alike: readonly Kind[],
  channelSetups: readonly ChannelSetup[],
  row: FaultRow,
  index: number,
): readonly (readonly [Kind, ChannelSetup])[] {
  const played = channelSetups.filter(isPlayed(row, itemInRotation(alike, 0)));
  return Array.from({ length: Math.max(alike.length, played.length) }, (_, at) => [
    itemInRotation(alike, index + at),
    itemInRotation(played, at),
  ]);
}

/** Of a sample each row is played once, with another kind and another mount than the row before. */
function casesOf(row: FaultRow, index: number, isSample: boolean): readonly Combination[] {
  if (isFull) return everyCombination(row);
  const rotated = rotatedCombinations(row, index);
  return isSample ? [itemInRotation(rotated, index)] : rotated;
}

function itemInRotation<T>(list: readonly T[], turn: number): T {
  const item = list[turn % list.length];
  if (item === undefined) throw new Error('The list is empty.');
  return item;
}

/** Makes a test of each combination that this form of the tests plays. */
export function runMatrix(name: string, rows: readonly FaultRow[], isSample = false): void {
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

  const makeCase = async (
    row: FaultRow,
    kind: Kind,
    mount: MountName,
    channelSetup: ChannelSetup,
  ) => {
    if (hosts === undefined) throw new Error('not started');
    const id = `${row.id} ${row.fault} ${kind} ${mount} ${channelSetup}`;
    const testCase = { id: Buffer.from(id).toString('hex'), row, kind, mount, channelSetup };
    const outcome = await runCase(testCase, hosts);
    const actual = comparisonOf(testCase, outcome);
    const expected = comparisonExpected(testCase);
    expect(actual, differences(actual, expected)).toEqual(expected);
  };

  describe.concurrent.each(
    rows.map((row, index) => [`${row.id} ${row.fault}`, row, index] as const),
  )('%s', (_, row, index) => {
    it.each(casesOf(row, index, isSample))('%s, %s, %s', async (kind, mount, channelSetup) => {
      failed += 1;
      await makeCase(row, kind, mount, channelSetup);
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
