/**
 * The two operations that take more than one script: an extend of many leases, and a sweep of all
 * partitions. Both go in portions, so that a server is never busy with one call for long.
 */
import { StoreUnavailable } from '../../ports/call-options.ts';
import type { ExtendInput, ExtendResult } from '../../ports/quota-store.ts';
import type { PartitionBook } from './partition-book.ts';
import { readExtend } from './quota-replies.ts';
import { extendScript, sweepScript } from './quota-scripts.ts';
import { corrupt, countOf, textsOf } from './reply.ts';
import type { Script } from './script.ts';

/** Runs a quota script in a partition. */
export type Ask = (
  script: Script,
  partition: string,
  words: readonly string[],
  signal: AbortSignal,
) => Promise<unknown>;

/** How many leases one script renews or expires at most: some ms of a server's time. */
const portion = 250;

/**
 * Renews leases, all partitions at once, and answers in the order asked. Where one portion fails
 * the others are done all the same, and the outcome of all is `unknown`.
 *
 * @throws RangeError where a hold is to grow by other than one amount a line; its portion has not
 *   changed then
 */
export async function extendLeases(
  ask: Ask,
  inputs: readonly ExtendInput[],
  signal: AbortSignal,
): Promise<readonly ExtendResult[]> {
  const results = new Map<number, ExtendResult>();
  const renew = async (some: Portion): Promise<void> => {
    const answers = await extendPortion(ask, some, signal);
    for (const [place, { index }] of some.entries()) {
      results.set(index, answers[place] ?? corrupt());
    }
  };
  const portions = portionsOf(inputs);
  const settled = await Promise.allSettled(portions.map(renew));
  const failures = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  if (failures.length > 0) throw failureOfAll(failures, failures.length < portions.length);
  return inputs.map((_input, index) => results.get(index) ?? corrupt());
}

/**
 * Expires due leases of one partition, or of all that were ever reserved in. One that can not be
 * swept keeps no other from it; the error comes at the end.
 */
export async function sweepPartitions(
  ask: Ask,
  book: PartitionBook,
  { max, partition }: { readonly max: number; readonly partition?: string },
  signal: AbortSignal,
): Promise<{ readonly expired: number; readonly more: boolean }> {
  const partitions = partition === undefined ? await book.list(signal) : [partition];
  let expired = 0;
  let more = false;
  const failures: unknown[] = [];
  for (const name of partitions) {
    // With no room left this only looks whether more is due.
    const swept = await sweepPartition(ask, name, max - expired, signal);
    expired += swept.expired;
    more ||= swept.more;
    failures.push(...swept.failures);
    if (signal.aborted || (more && expired >= max)) break;
  }
  if (failures.length > 0) throw failureOfAll(failures, expired > 0);
  return { expired, more };
}

interface Swept {
  readonly expired: number;
  readonly more: boolean;
  readonly failures: readonly unknown[];
}

async function sweepPartition(
  ask: Ask,
  partition: string,
  max: number,
  signal: AbortSignal,
): Promise<Swept> {
  let expired = 0;
  try {
    for (;;) {
      const room = Math.min(max - expired, portion);
      const [count, due] = textsOf(await ask(sweepScript, partition, [String(room)], signal));
      expired += countOf(count);
      const more = countOf(due) > 0;
      if (!more || expired >= max || signal.aborted) return { expired, more, failures: [] };
    }
  } catch (error) {
    return { expired, more: false, failures: [error] };
  }
}

/** One error for several: `not_done` only where nothing was done, and each says so of its own. */
function failureOfAll(failures: readonly unknown[], someDone: boolean): unknown {
  const other = failures.find((failure) => !(failure instanceof StoreUnavailable));
  if (other !== undefined) return other;
  const unknown = failures.find((failure) => !isNotDone(failure));
  if (unknown !== undefined || !someDone) return unknown ?? failures[0];
  return new StoreUnavailable('Redis did a part of it only', { cause: failures[0] });
}

function isNotDone(failure: unknown): boolean {
  return failure instanceof StoreUnavailable && failure.outcome === 'not_done';
}

/** Leases of one partition, each with its place among those asked. */
type Portion = readonly { readonly index: number; readonly input: ExtendInput }[];

async function extendPortion(
  ask: Ask,
  leases: Portion,
  signal: AbortSignal,
): Promise<readonly ExtendResult[]> {
  const words = leases.flatMap(({ input: { id, ttlMs, add, idle } }) => [
    id,
    String(ttlMs),
    idle === true ? '1' : '',
    ...(add === undefined ? [''] : [String(add.length), ...add.map(String)]),
  ]);
  const partition = leases[0]?.input.partition ?? corrupt();
  const reply = await ask(extendScript, partition, [String(leases.length), ...words], signal);
  const results = readExtend(reply, leases.length);
  if (results === undefined) {
    throw new RangeError('Quota input refused: add must have an amount for each line.');
  }
  return results;
}

function portionsOf(inputs: readonly ExtendInput[]): readonly Portion[] {
  const places = inputs.map((input, index) => ({ index, input }));
  const partitions = new Set(inputs.map(({ partition }) => partition));
  return [...partitions].flatMap((partition) => {
    const own = places.filter(({ input }) => input.partition === partition);
    return Array.from({ length: Math.ceil(own.length / portion) }, (_, index) =>
      own.slice(index * portion, (index + 1) * portion),
    );
  });
}
