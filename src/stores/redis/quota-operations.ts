/**
 * The quota store over a function that runs scripts: each operation runs a script and checks the
 * reply.
 */
import type { Nanos } from '../../money.ts';
import type { CallOptions } from '../../ports/call-options.ts';
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
  QuotaLine,
  QuotaStore,
  ReserveInput,
  SettleInput,
} from '../../ports/limits/quota-store.ts';
import type { LoadScripts, RunScript, ScriptCall } from './client.ts';
import { withDeadline } from './deadline.ts';
import { partitionList } from './partition-list.ts';
import { extendLeases, type RunInPartition, sweepPartitions } from './quota-batches.ts';
import { readRelease, readReserve, readSettle, readState } from './quota-replies.ts';
import {
  adjustScript,
  checkScript,
  readScript,
  releaseScript,
  reserveScript,
  settleScript,
} from './quota-scripts.ts';
import { corrupt, textsOf } from './reply.ts';
import type { Script } from './script.ts';
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
