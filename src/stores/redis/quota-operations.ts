/**
 * The quota store over whatever runs scripts: checks each input, asks one script, and checks its
 * reply.
 */
import type { Nanos } from '../../money.ts';
import {
  checkAdjust,
  checkEnding,
  checkExtend,
  checkReserve,
  checkRow,
  checkSweep,
  defaultPartition,
  extraTooLarge,
  limitStatedByRecords,
  refuse,
} from '../../ports/quota-input.ts';
import type { AdjustInput, QuotaLine, QuotaStore, ReserveInput } from '../../ports/quota-store.ts';
import type { LoadScripts, RunScript } from './client.ts';
import { partitionBook } from './partition-book.ts';
import { patiently } from './patience.ts';
import { readRelease, readReserve, readSettle, readState } from './quota-replies.ts';
import {
  adjustScript,
  checkScript,
  readScript,
  releaseScript,
  reserveScript,
  settleScript,
} from './quota-scripts.ts';
import { type Ask, extendLeases, sweepPartitions } from './quota-walks.ts';
import { corrupt, textsOf } from './reply.ts';
import { problemsOf } from './self-test.ts';

/** What a quota store is made of, beside the way to its server. */
export interface QuotaSettings {
  /** What every key begins with. */
  readonly prefix: string;
  /** How long an ended reservation is remembered. */
  readonly endedTtlMs: number;
  readonly durability: 'replica-async' | 'durable';
}

/** A quota store whose every operation is one script. */
export function quotaStoreOver(
  run: RunScript,
  settings: QuotaSettings,
  load: LoadScripts = async () => {},
): QuotaStore {
  const { prefix, durability } = settings;
  const endedTtlMs = String(settings.endedTtlMs);
  // Two keys that never exist: where their slot is on its way to another node, Redis runs the
  // script on neither, for each would know a part of the books only.
  const keysOf = (partition: string): readonly string[] => {
    const base = `${prefix}:{${partition}}:`;
    return [base, `${base}x`];
  };
  const ask: Ask = (script, partition, words, signal) =>
    run({ script, keys: keysOf(partition), words: [endedTtlMs, ...words] }, signal);
  const book = partitionBook(run, `${prefix}:partitions`);

  return {
    durability,
    reserve: async (input, options) => {
      checkReserve(input);
      return patiently(options, async (signal) => {
        await book.enter(input.partition, signal);
        const reply = await ask(reserveScript, input.partition, reserveWords(input), signal);
        return readReserve(reply, input.lines);
      });
    },
    extend: async (inputs, options) => {
      checkExtend(inputs);
      return patiently(options, (signal) => extendLeases(ask, inputs, signal));
    },
    settle: async (input, options) => {
      checkEnding(input);
      const lines = input.lines.flatMap((line) => [rowOf(line), String(line.amount)]);
      const words = [input.id, String(input.lines.length), ...lines];
      return patiently(options, async (signal) =>
        readSettle(await ask(settleScript, input.partition, words, signal)),
      );
    },
    release: async (input, options) => {
      checkEnding(input);
      const words = [input.id, String(input.lines.length), ...input.lines.map(rowOf)];
      return patiently(options, async (signal) =>
        readRelease(
          await run(
            {
              script: releaseScript,
              keys: keysOf(input.partition),
              words: [endedTtlMs, ...words],
              mustLand: true,
            },
            signal,
          ),
        ),
      );
    },
    sweep: async (options) => {
      checkSweep(options);
      return patiently(options, (signal) => sweepPartitions(ask, book, options, signal));
    },
    read: async (subject, period, partition, options) => {
      checkRow(subject, period, partition);
      return patiently(options, async (signal) =>
        readState(await ask(readScript, partition, [rowOf({ subject, period })], signal)),
      );
    },
    adjust: async (input, options) => {
      checkAdjust(input);
      return patiently(options, async (signal) => {
        const reply = await ask(adjustScript, input.partition, adjustWords(input), signal);
        const [status] = textsOf(reply);
        if (status === 'refused') refuse(extraTooLarge);
        if (status === 'carried') refuse(limitStatedByRecords);
        return readState(reply) ?? corrupt();
      });
    },
    check: async (options) =>
      patiently(options, async (signal) => {
        const reply = await ask(checkScript, defaultPartition, [], signal);
        const problems = problemsOf(textsOf(reply), durability);
        // Ahead of the first call: a server that hangs when it comes has each script, and does what
        // it was sent as soon as it goes on.
        await load(keysOf(defaultPartition), signal);
        return problems.length === 0 ? { ok: true } : { ok: false, problems };
      }),
    // The client is the host's, and so is its end.
    close: () => {},
  };
}

function rowOf({ subject, period }: Pick<QuotaLine, 'subject' | 'period'>): string {
  return `${subject}|${period}`;
}

function reserveWords({ id, ttlMs, lines, onExpire, maxConcurrentCalls }: ReserveInput): string[] {
  const words = lines.flatMap((line, index) => [
    rowOf(line),
    String(line.amount),
    String(onExpire === 'release' ? 0 : (onExpire.charge[index] ?? 0)),
    textOr(line.limit),
    textOr(maxConcurrentCalls?.[index]),
  ]);
  return [id, String(ttlMs), String(lines.length), ...words];
}

function adjustWords(input: AdjustInput): string[] {
  const enabled = input.enabled === undefined ? '' : input.enabled ? '1' : '0';
  return [input.id, rowOf(input), textOr(input.limit), textOr(input.addLimit), enabled];
}

/** Nothing is an empty word. */
function textOr(value: Nanos | number | undefined): string {
  return value === undefined ? '' : String(value);
}
