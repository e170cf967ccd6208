/**
 * QS-34, QS-42, QS-43 and QS-44: stores over a connection that breaks at any byte, loses a reply,
 * garbles it, or is slow.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import type { ContractCase } from '../../src/testing/contracts/contract-case.ts';
import { gate } from '../../src/testing/providers/scripts.ts';
import type { CutProxy } from './cut-proxy.ts';
import { type Operation, send } from './operations.ts';

/** A store whose connection goes through a proxy, and the same data over a direct connection. */
export interface BrokenLine {
  readonly far: QuotaStore;
  readonly near: QuotaStore;
  readonly proxy: CutProxy;
  /** Replies that no correct server of this kind sends. */
  readonly garbage: readonly Uint8Array[];
}

/** The cases; `lineOf` is called once per case. */
export function cutCases(lineOf: () => BrokenLine): readonly ContractCase[] {
  const cut = endings.map(({ op, begin, isWhole }) => ({
    name: `QS-34 a ${op} that is cut at any byte and repeated takes effect exactly once`,
    run: () => cutEverywhere(lineOf(), begin, isWhole),
  }));
  return [
    ...cut,
    {
      name: 'QS-42 a repeated settle whose first reply was lost is already done',
      run: () => lose(lineOf()),
    },
    { name: 'QS-43 an invalid reply is never accepted', run: () => garble(lineOf()) },
    {
      name: 'QS-44 a slow store is not waited for beyond the deadline',
      run: () => delay(lineOf()),
    },
  ];
}

/** The operation of a case. */
interface Ending {
  readonly op: string;
  /** Prepares the operation over the direct connection. */
  readonly begin: (line: BrokenLine, partition: string) => Promise<Operation>;
  /** The subject's row after the operation has taken effect once. */
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
    begin: async (line, partition) => settleOf(await firstBytes(line, partition), 5n),
    isWhole: { used: 5n, held: 0n, inFlight: 0 },
  },
  {
    op: 'release',
    begin: async (line, partition) => {
      const { id } = (await firstBytes(line, partition)).input;
      return { op: 'release', input: { id, partition, lines } };
    },
    isWhole: { used: 0n, held: 0n, inFlight: 0 },
  },
];

/** Cuts requests and replies at their ends and at every few bytes in between. */
async function cutEverywhere(
  line: BrokenLine,
  begin: Ending['begin'],
  isWhole: Ending['isWhole'],
): Promise<void> {
  // The first operation of a kind is longer: the server loads scripts and makes plans.
  await send(line.far, await begin(line, newPartition()));
  const operation = await begin(line, newPartition());
  line.proxy.set();
  await send(line.far, operation);
  const whole = line.proxy.passed();
  for (const side of ['request', 'reply'] as const) {
    for (const afterBytes of positionsIn(whole[side])) {
      const partition = newPartition();
      const operation = await begin(line, partition);
      await reconnects(line);
      line.proxy.set({ kind: 'cut', side, afterBytes });
      const outcome = await outcomeOf(line.far, operation);
      await line.proxy.quiet();
      line.proxy.set();
      await insistOnce(line, operation, outcome, isWhole, `${side} cut after ${afterBytes} bytes`);
    }
  }
}

/** The positions of the cuts; every byte in a long run. */
function positionsIn(length: number): readonly number[] {
  const isNight = process.env.PROOF_TIMES !== undefined;
  const step = isNight ? 1 : Math.max(1, Math.floor(length / 40));
  const inside = Array.from({ length: Math.ceil(length / step) }, (_, index) => index * step);
  return [...new Set([...inside, 1, length - 2, length - 1, length])].filter((at) => at <= length);
}

async function insistOnce(
  line: BrokenLine,
  operation: Operation,
  outcome: Outcome,
  isWhole: Ending['isWhole'],
  where: string,
): Promise<void> {
  const before = await rowsOf(line, operation);
  const answer = await send(line.near, operation);
  const rows = await rowsOf(line, operation);
  for (const row of rows) assert.deepEqual(row, isWhole, where);
  // `not_done` must be true; if the store can't know, it must report `unknown`.
  if (outcome === 'not_done') assert.notDeepEqual(before, rows, `${where}: said not_done`);
  if (outcome === 'done') assert.deepEqual(before, rows, `${where}: said done`);
  assert.match(JSON.stringify(answer, plain), /held|settled|already|released/, where);
}

async function lose(line: BrokenLine): Promise<void> {
  const settle = settleOf(await firstBytes(line, newPartition()), 5n);
  await reconnects(line);
  line.proxy.set({ kind: 'lose' });
  assert.match(await outcomeOf(line.far, settle), /^(?:unknown|done)$/);
  await line.proxy.quiet();
  await reconnects(line);
  assert.deepEqual(await send(line.far, settle), { status: 'already', charged: [5n, 5n] });
  for (const row of await rowsOf(line, settle)) assert.equal(row?.used, 5n);
}

async function garble(line: BrokenLine): Promise<void> {
  for (const bytes of line.garbage) {
    const settle = settleOf(await firstBytes(line, newPartition()), 5n);
    await reconnects(line);
    line.proxy.set({ kind: 'garble', bytes });
    assert.match(await outcomeOf(line.far, settle), /^(?:unknown|corrupt)$/, latin1Of(bytes));
    await line.proxy.quiet();
    assert.deepEqual(await send(line.near, settle), { status: 'already', charged: [5n, 5n] });
  }
}

function latin1Of(bytes: Uint8Array): string {
  return JSON.stringify(Buffer.from(bytes).toString('latin1'));
}

/**
 * Waits until the client has a new connection, which may take a failed call, so that only the
 * operation itself passes through the proxy afterwards.
 */
async function reconnects({ far, proxy }: BrokenLine): Promise<void> {
  proxy.set();
  for (;;) {
    const outcome = await outcomeOf(far, reserveOf(newPartition()));
    if (outcome === 'done') return;
  }
}

async function delay(line: BrokenLine): Promise<void> {
  const settle = settleOf(await firstBytes(line, newPartition()), 5n);
  const { opened, open } = gate();
  await reconnects(line);
  line.proxy.set({ kind: 'hold', until: opened });
  // The gate stays closed until the store's deadline has passed, or the test times out.
  assert.equal(await outcomeOf(line.far, settle), 'unknown');
  open();
  assert.deepEqual(await send(line.near, settle), { status: 'already', charged: [5n, 5n] });
  await reconnects(line);
}

type Outcome = 'done' | 'not_done' | 'unknown' | 'corrupt';

/** The outcome for the caller; errors other than store errors are rethrown. */
async function outcomeOf(store: QuotaStore, operation: Operation): Promise<Outcome> {
  try {
    await send(withDeadline(store), operation);
    return 'done';
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.name === 'StoreCorrupt') return 'corrupt';
    if (error.name !== 'StoreUnavailable') throw error;
    const outcome: unknown = Reflect.get(error, 'outcome');
    assert(outcome === 'not_done' || outcome === 'unknown', `unexpected outcome: ${outcome}`);
    return outcome;
  }
}

/** Long enough for a reconnect, short enough for a test. */
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

async function firstBytes({ near }: BrokenLine, partition: string): Promise<Reserve> {
  const reserve = reserveOf(partition);
  await send(near, reserve);
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
