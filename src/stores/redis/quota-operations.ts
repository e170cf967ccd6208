/**
 * The quota store over a function that runs scripts: each operation runs a script and checks the
 * reply. The extend of many leases and the sweep of all partitions work in batches, so that no
 * script blocks the server for long. A sweep finds the partitions in a list, a key of its own that
 * is written before the first hold in a partition.
 */
import type { Nanos } from '../../money.ts';
import {
  type CallOptions,
  isStoreUnavailable,
  StoreUnavailable,
} from '../../ports/call-options.ts';
import { checkedQuotaStore } from '../../ports/limits/checked-quota-store.ts';
import {
  defaultPartition,
  extraTooLarge,
  limitStatedByRecords,
  refuse,
} from '../../ports/limits/quota-input.ts';
import type {
  AdjustInput,
  AdjustResult,
  ExtendInput,
  ExtendResult,
  QuotaLine,
  QuotaStore,
  ReserveInput,
  SettleInput,
} from '../../ports/limits/quota-store.ts';
import type { LoadScripts, RunScript, Script, ScriptCall } from './client.ts';
import { withDeadline } from './deadline.ts';
import { readExtend, readRelease, readReserve, readSettle, readState } from './quota-replies.ts';
import {
  adjustScript,
  checkScript,
  extendScript,
  partitionsScript,
  readScript,
  releaseScript,
  reserveScript,
  settleScript,
  sweepScript,
} from './quota-scripts.ts';
import { corrupt, countOf, textsOf } from './reply.ts';
import { escaped } from './set-up.ts';

export interface QuotaSettings {
  readonly prefix: string;
  readonly endedTtlMs: number;
  readonly durability: 'replica-async' | 'durable';
}

/** A quota store whose operations are one script each. */
export function quotaStoreOver(
  run: RunScript,
  settings: QuotaSettings,
  load: LoadScripts = async () => {},
): QuotaStore {
  const { prefix, durability } = settings;
  const { keysOf, callOf, runIn, ask } = partitionRunner(run, settings);
  const partitions = partitionList(run, `${prefix}:partitions`);

  return checkedQuotaStore({
    durability,
    reserve: (input, options) =>
      withDeadline(options, async (signal) => {
        await partitions.add(input.partition, signal);
        const reply = await runIn(reserveScript, input.partition, reserveArgs(input), signal);
        return readReserve(reply, input.lines);
      }),
    extend: (inputs, options) =>
      withDeadline(options, (signal) => extendLeases(runIn, inputs, signal)),
    settle: (input, options) => {
      const call = callOf(settleScript, input.partition, settleArgs(input));
      return ask(call, options, (reply) => readSettle(reply, input.lines.length));
    },
    release: (input, options) => {
      const { id, lines, partition } = input;
      const args = [id, String(lines.length), ...lines.map(rowOf)];
      const call = { ...callOf(releaseScript, partition, args), mustLand: true };
      return ask(call, options, readRelease);
    },
    sweep: (options) =>
      withDeadline(options, (signal) => sweepPartitions(runIn, partitions, options, signal)),
    read: (subject, period, partition, options) =>
      ask(callOf(readScript, partition, [rowOf({ subject, period })]), options, readState),
    adjust: (input, options) =>
      ask(callOf(adjustScript, input.partition, adjustArgs(input)), options, readAdjust),
    check: (options) =>
      withDeadline(options, async (signal) => {
        const info = textsOf(await runIn(checkScript, defaultPartition, [], signal));
        // Loaded before the first call: a server that hangs during a call then knows the script,
        // and runs the call as soon as it recovers.
        await load(keysOf(defaultPartition), signal);
        const problems = problemsOf(info, durability);
        return problems.length === 0 ? { ok: true } : { ok: false, problems };
      }),
    // The host closes its client.
    close: () => {},
  });
}

/** Runs scripts on the keys of a partition. */
function partitionRunner(run: RunScript, { prefix, endedTtlMs }: QuotaSettings) {
  // Two keys that never exist: while their slot migrates to another node, Redis then runs the
  // script on neither node, since each has only a part of the data.
  const keysOf = (partition: string): readonly string[] => {
    const base = `${prefix}:{${partition}}:`;
    return [base, `${base}x`];
  };
  const callOf = (script: Script, partition: string, args: readonly string[]): ScriptCall => ({
    script,
    keys: keysOf(partition),
    args: [String(endedTtlMs), ...args],
  });
  const runIn: RunInPartition = (script, partition, args, signal) =>
    run(callOf(script, partition, args), signal);
  const ask = <T>(
    call: ScriptCall,
    options: CallOptions | undefined,
    read: (reply: unknown) => T,
  ): Promise<T> => withDeadline(options, async (signal) => read(await run(call, signal)));
  return { keysOf, callOf, runIn, ask };
}

function rowOf({ subject, period }: Pick<QuotaLine, 'subject' | 'period'>): string {
  return `${escaped(subject)}|${period}`;
}

function reserveArgs({ id, ttlMs, lines, onExpire, maxConcurrentCalls }: ReserveInput): string[] {
  const args = lines.flatMap((line, index) => [
    rowOf(line),
    String(line.amount),
    String(onExpire === 'release' ? 0 : (onExpire.charge[index] ?? 0)),
    textOr(line.limit),
    textOr(maxConcurrentCalls?.[index]),
  ]);
  return [id, String(ttlMs), String(lines.length), ...args];
}

function settleArgs({ id, lines }: SettleInput): string[] {
  return [id, String(lines.length), ...lines.flatMap((line) => [rowOf(line), String(line.amount)])];
}

function readAdjust(reply: unknown): AdjustResult {
  const texts = textsOf(reply);
  const [status] = texts;
  if (status === 'refused') refuse(extraTooLarge);
  if (status === 'carried') refuse(limitStatedByRecords);
  return { ...(readState(reply) ?? corrupt()), replay: texts[8] === '1' };
}

function adjustArgs(input: AdjustInput): string[] {
  const enabled = input.enabled === undefined ? '' : input.enabled ? '1' : '0';
  return [input.id, rowOf(input), textOr(input.limit), textOr(input.addLimit), enabled];
}

/** An argument that is left out is sent as an empty string. */
function textOr(value: Nanos | number | undefined): string {
  return value === undefined ? '' : String(value);
}

const oldest = { major: 6, minor: 2 };

/** The problems of a server, each a sentence with its remedy; `info` is the text of INFO. */
function problemsOf(
  info: readonly string[],
  durability: 'replica-async' | 'durable',
): readonly string[] {
  const fields = fieldsOf(info);
  const version = fields.get('redis_version') ?? 'unknown';
  const policy = fields.get('maxmemory_policy') ?? 'unknown';
  const hasAof = fields.get('aof_enabled') === '1';
  return [
    ...(isNewEnough(version)
      ? []
      : [`Redis is version ${version}: it must be ${oldest.major}.${oldest.minor} or newer`]),
    ...(policy === 'noeviction'
      ? []
      : [`maxmemory-policy is ${policy}, which may drop balances: set it to noeviction`]),
    ...(durability === 'durable' && !hasAof
      ? ['appendonly is off, so nothing is durable: set appendonly yes and appendfsync always']
      : []),
  ];
}

function fieldsOf(info: readonly string[]): ReadonlyMap<string, string> {
  const lines = info.flatMap((text) => text.split('\r\n'));
  return new Map(
    lines.flatMap((line) => {
      const [, name, value] = /^(\w+):(.*)$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value] as const];
    }),
  );
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > oldest.major || (major === oldest.major && minor >= oldest.minor);
}

type RunInPartition = (
  script: Script,
  partition: string,
  args: readonly string[],
  signal: AbortSignal,
) => Promise<unknown>;

/** Maximum number of leases that one script renews or expires; it takes the server a few ms. */
const maxBatch = 250;

/**
 * Renews leases of all partitions concurrently; results are in the order of the inputs. Where one
 * batch fails, the others are still done, and the outcome of the call is `unknown`.
 *
 * @throws RangeError where `add` does not have one amount for each line of a hold, in which case
 *   nothing in its batch has changed
 */
async function extendLeases(
  runIn: RunInPartition,
  inputs: readonly ExtendInput[],
  signal: AbortSignal,
): Promise<readonly ExtendResult[]> {
  const results = new Map<number, ExtendResult>();
  const renew = async (batch: Batch): Promise<void> => {
    const replies = await extendBatch(runIn, batch, signal);
    for (const [position, { index }] of batch.entries()) {
      results.set(index, replies[position] ?? corrupt());
    }
  };
  const batches = batchesOf(inputs);
  const settled = await Promise.allSettled(batches.map(renew));
  const failures = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  if (failures.length > 0) throw failureOfAll(failures, failures.length < batches.length);
  return inputs.map((_input, index) => results.get(index) ?? corrupt());
}

/**
 * Expires due leases of one partition, or of all partitions ever used. Where one partition fails,
 * the others are still swept and the error is thrown at the end.
 */
async function sweepPartitions(
  runIn: RunInPartition,
  list: PartitionList,
  { max, partition }: { readonly max: number; readonly partition?: string },
  signal: AbortSignal,
): Promise<{ readonly expired: number; readonly more: boolean }> {
  const partitions = partition === undefined ? await list.list(signal) : [partition];
  let expired = 0;
  let more = false;
  const failures: unknown[] = [];
  for (const name of partitions) {
    // When `max` has been reached, this only finds out whether more leases are due.
    const swept = await sweepPartition(runIn, name, max - expired, signal);
    expired += swept.expired;
    more ||= swept.more;
    failures.push(...swept.failures);
    if (signal.aborted || (more && expired >= max)) break;
  }
  if (failures.length > 0) throw failureOfAll(failures, expired > 0);
  return { expired, more };
}

interface SweptPartition {
  readonly expired: number;
  readonly more: boolean;
  readonly failures: readonly unknown[];
}

async function sweepPartition(
  runIn: RunInPartition,
  partition: string,
  max: number,
  signal: AbortSignal,
): Promise<SweptPartition> {
  let expired = 0;
  try {
    for (;;) {
      const limit = Math.min(max - expired, maxBatch);
      const [count, due] = textsOf(await runIn(sweepScript, partition, [String(limit)], signal));
      expired += countOf(count);
      const more = countOf(due) > 0;
      if (!more || expired >= max || signal.aborted) return { expired, more, failures: [] };
    }
  } catch (error) {
    return { expired, more: false, failures: [error] };
  }
}

/** One error for several: `not_done` only where nothing was done and every error says so. */
function failureOfAll(failures: readonly unknown[], someDone: boolean): unknown {
  const other = failures.find((failure) => !isStoreUnavailable(failure));
  if (other !== undefined) return other;
  const unknown = failures.find((failure) => !isNotDone(failure));
  if (unknown !== undefined || !someDone) return unknown ?? failures[0];
  return new StoreUnavailable('Redis did only a part of the call', { cause: failures[0] });
}

function isNotDone(failure: unknown): boolean {
  return isStoreUnavailable(failure) && failure.outcome === 'not_done';
}

type Batch = readonly { readonly index: number; readonly input: ExtendInput }[];

async function extendBatch(
  runIn: RunInPartition,
  leases: Batch,
  signal: AbortSignal,
): Promise<readonly ExtendResult[]> {
  const args = leases.flatMap(({ input: { id, ttlMs, add, idle } }) => [
    id,
    String(ttlMs),
    idle === true ? '1' : '',
    ...(add === undefined ? [''] : [String(add.length), ...add.map(String)]),
  ]);
  const partition = leases[0]?.input.partition ?? corrupt();
  const reply = await runIn(extendScript, partition, [String(leases.length), ...args], signal);
  const results = readExtend(reply, leases.length);
  if (results === undefined) {
    throw new RangeError('Quota input refused: add must have an amount for each line.');
  }
  return results;
}

function batchesOf(inputs: readonly ExtendInput[]): readonly Batch[] {
  const indexed = inputs.map((input, index) => ({ index, input }));
  const partitions = new Set(inputs.map(({ partition }) => partition));
  return [...partitions].flatMap((partition) => {
    const leases = indexed.filter(({ input }) => input.partition === partition);
    return Array.from({ length: Math.ceil(leases.length / maxBatch) }, (_, index) =>
      leases.slice(index * maxBatch, (index + 1) * maxBatch),
    );
  });
}

/** The partitions in which any process has ever reserved. */
interface PartitionList {
  /** Adds a partition, once per process. The default one is always in the list. */
  add(partition: string, signal: AbortSignal): Promise<void>;
  list(signal: AbortSignal): Promise<readonly string[]>;
}

/** How many added partitions a process remembers; above this it may add some again. */
const maxRemembered = 10_000;

function partitionList(run: RunScript, key: string): PartitionList {
  const added = new Set<string>();

  return {
    add: async (partition, signal) => {
      if (partition === defaultPartition || added.has(partition)) return;
      await run({ script: partitionsScript, keys: [key], args: [partition] }, signal);
      if (added.size >= maxRemembered) added.clear();
      added.add(partition);
    },
    list: async (signal) => {
      const known = textsOf(await run({ script: partitionsScript, keys: [key], args: [] }, signal));
      // A failover may have lost the partitions that this process added.
      return [...new Set([defaultPartition, ...added, ...known])];
    },
  };
}
