/**
 * QS-34, QS-42, QS-43 and QS-44: what a store and its asker know of one another when the line
 * between them breaks at any byte, loses a reply, garbles it, or is slow.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { QuotaStore } from '../../src/ports/quota-store.ts';
import type { ContractCase } from '../../src/testing/contracts/contract-case.ts';
import { gate } from '../../src/testing/fake-upstream/scripts.ts';
import type { CutProxy } from './cut-proxy.ts';
import { ask, type Operation } from './operations.ts';

/** A store whose line goes through a proxy, and the same books by a line that never breaks. */
export interface BrokenLine {
  readonly far: QuotaStore;
  readonly near: QuotaStore;
  readonly proxy: CutProxy;
  /** A reply that no sound server of this kind gives to what a store asks. */
  readonly garbage: readonly Uint8Array[];
}

/** The cases, over a line that is asked for once a case. */
export function cutCases(lineOf: () => BrokenLine): readonly ContractCase[] {
  const cut = endings.map(({ op, begin, isWhole }) => ({
    name: `QS-34 a ${op} that is cut at any byte and asked again happens exactly once`,
    run: () => cutEverywhere(lineOf(), begin, isWhole),
  }));
  return [
    ...cut,
    { name: 'QS-42 a settle whose reply was lost is there already', run: () => lose(lineOf()) },
    { name: 'QS-43 a reply that is garbage is never believed', run: () => garble(lineOf()) },
    { name: 'QS-44 a store that is slow is not waited for', run: () => delay(lineOf()) },
  ];
}

/** What a case does through the line that breaks. */
interface Ending {
  readonly op: string;
  /** Makes what the operation needs, by the good line. */
  readonly begin: (line: BrokenLine, partition: string) => Promise<Operation>;
  /** The subject's row once the operation has happened once. */
  readonly isWhole: { readonly used: bigint; readonly held: bigint; readonly inFlight: number };
}

const ttlMs = 900_000;
const lines = [
  { subject: 'caller', period: '', amount: 7n, limit: 1_000n },
  { subject: 'group', period: '2026-11', amount: 7n, limit: 1_000n },
];

const endings: readonly Ending[] = [
  {
    op: 'reserve',
    begin: async (_line, partition) => reserveOf(partition),
    isWhole: { used: 0n, held: 7n, inFlight: 1 },
  },
  {
    op: 'settle',
    begin: async (line, partition) => settleOf(await begun(line, partition), 5n),
    isWhole: { used: 5n, held: 0n, inFlight: 0 },
  },
  {
    op: 'release',
    begin: async (line, partition) => {
      const { id } = (await begun(line, partition)).input;
      return { op: 'release', input: { id, partition, lines } };
    },
    isWhole: { used: 0n, held: 0n, inFlight: 0 },
  },
];

/** Each side at its ends and at every few bytes in between. */
async function cutEverywhere(
  line: BrokenLine,
  begin: Ending['begin'],
  isWhole: Ending['isWhole'],
): Promise<void> {
  // The first of a kind is longer: it makes scripts and plans known to the server.
  await ask(line.far, await begin(line, newPartition()));
  const operation = await begin(line, newPartition());
  line.proxy.set();
  await ask(line.far, operation);
  const whole = line.proxy.passed();
  for (const side of ['request', 'reply'] as const) {
    for (const afterBytes of placesIn(whole[side])) {
      const partition = newPartition();
      const asked = await begin(line, partition);
      await comesBack(line);
      line.proxy.set({ kind: 'cut', side, afterBytes });
      const outcome = await outcomeOf(line.far, asked);
      await line.proxy.quiet();
      line.proxy.set();
      await insistOnce(line, asked, outcome, isWhole, `${side} cut after ${afterBytes} bytes`);
    }
  }
}

/** Every byte where the proofs are given a night. */
function placesIn(length: number): readonly number[] {
  const isNight = process.env.PROOF_TIMES !== undefined;
  const step = isNight ? 1 : Math.max(1, Math.floor(length / 40));
  const inside = Array.from({ length: Math.ceil(length / step) }, (_, index) => index * step);
  return [...new Set([...inside, 1, length - 2, length - 1, length])].filter((at) => at <= length);
}

async function insistOnce(
  line: BrokenLine,
  asked: Operation,
  outcome: Outcome,
  isWhole: Ending['isWhole'],
  where: string,
): Promise<void> {
  const before = await rowsOf(line, asked);
  const answer = await ask(line.near, asked);
  const rows = await rowsOf(line, asked);
  for (const row of rows) assert.deepEqual(row, isWhole, where);
  // Who says that nothing was done must be right; who can't tell says so.
  if (outcome === 'not_done') assert.notDeepEqual(before, rows, `${where}: said not_done`);
  if (outcome === 'done') assert.deepEqual(before, rows, `${where}: said done`);
  assert.match(JSON.stringify(answer, plain), /held|settled|already|released/, where);
}

async function lose(line: BrokenLine): Promise<void> {
  const settle = settleOf(await begun(line, newPartition()), 5n);
  await comesBack(line);
  line.proxy.set({ kind: 'lose' });
  assert.match(await outcomeOf(line.far, settle), /^(?:unknown|done)$/);
  await line.proxy.quiet();
  await comesBack(line);
  assert.deepEqual(await ask(line.far, settle), { status: 'already', charged: [5n, 5n] });
  for (const row of await rowsOf(line, settle)) assert.equal(row?.used, 5n);
}

async function garble(line: BrokenLine): Promise<void> {
  for (const bytes of line.garbage) {
    const settle = settleOf(await begun(line, newPartition()), 5n);
    await comesBack(line);
    line.proxy.set({ kind: 'garble', bytes });
    assert.match(await outcomeOf(line.far, settle), /^(?:unknown|corrupt)$/, said(bytes));
    await line.proxy.quiet();
    assert.deepEqual(await ask(line.near, settle), { status: 'already', charged: [5n, 5n] });
  }
}

function said(bytes: Uint8Array): string {
  return JSON.stringify(Buffer.from(bytes).toString('latin1'));
}

/**
 * A client may need a moment, and one failed question, until it has a new connection. From then on
 * what passes is the operation, and no greeting.
 */
async function comesBack({ far, proxy }: BrokenLine): Promise<void> {
  proxy.set();
  for (;;) {
    const outcome = await outcomeOf(far, reserveOf(newPartition()));
    if (outcome === 'done') return;
  }
}

async function delay(line: BrokenLine): Promise<void> {
  const settle = settleOf(await begun(line, newPartition()), 5n);
  const { opened, open } = gate();
  await comesBack(line);
  line.proxy.set({ kind: 'hold', until: opened });
  // Nobody opens before the store has given up: it does so by its own clock, or the test ends.
  assert.equal(await outcomeOf(line.far, settle), 'unknown');
  open();
  assert.deepEqual(await ask(line.near, settle), { status: 'already', charged: [5n, 5n] });
  await comesBack(line);
}

type Outcome = 'done' | 'not_done' | 'unknown' | 'corrupt';

/** What the asker gets to know; anything but the errors of a store goes on. */
async function outcomeOf(store: QuotaStore, operation: Operation): Promise<Outcome> {
  try {
    await ask(withDeadline(store), operation);
    return 'done';
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.name === 'StoreCorrupt') return 'corrupt';
    if (error.name !== 'StoreUnavailable') throw error;
    const outcome: unknown = Reflect.get(error, 'outcome');
    assert(outcome === 'not_done' || outcome === 'unknown', `an outcome is said: ${outcome}`);
    return outcome;
  }
}

/** Patient enough for a reconnect, short enough for a test. */
const options = { timeoutMs: 500 } as const;

function withDeadline(store: QuotaStore): QuotaStore {
  return {
    ...store,
    reserve: (input) => store.reserve(input, options),
    settle: (input) => store.settle(input, options),
    release: (input) => store.release(input, options),
  };
}

type Reserve = Operation & { readonly op: 'reserve' };

function reserveOf(partition: string): Reserve {
  const input = { id: `reservation-${partition}`, partition, lines, ttlMs };
  return { op: 'reserve', input: { ...input, onExpire: 'release' } };
}

async function begun({ near }: BrokenLine, partition: string): Promise<Reserve> {
  const reserve = reserveOf(partition);
  await ask(near, reserve);
  return reserve;
}

function settleOf({ input: { id, partition } }: Reserve, amount: bigint): Operation {
  const charged = lines.map(({ subject, period }) => ({ subject, period, amount }));
  return { op: 'settle', input: { id, partition, lines: charged, basis: 'usage' } };
}

async function rowsOf({ near }: BrokenLine, operation: Operation) {
  if (operation.op === 'extend' || operation.op === 'read') return [];
  const { partition } = operation.input;
  const rows = [];
  for (const { subject, period } of lines) {
    const row = await near.read(subject, period, partition);
    rows.push(row && { used: row.used, held: row.held, inFlight: row.inFlight });
  }
  return rows;
}

function newPartition(): string {
  return `cut-${randomUUID().slice(0, 13)}`;
}

function plain(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}` : value;
}
