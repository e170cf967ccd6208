/**
 * The two operations that run more than one script: the extend of many leases and the sweep of all
 * partitions. Both work in batches, so that one script never blocks the server for long.
 */
import { isStoreUnavailable, StoreUnavailable } from '../../ports/call-options.ts';
import type { ExtendInput, ExtendResult } from '../../ports/limits/quota-store.ts';
import type { PartitionList } from './partition-list.ts';
import { readExtend } from './quota-replies.ts';
import { extendScript, sweepScript } from './quota-scripts.ts';
import { corrupt, countOf, textsOf } from './reply.ts';
import type { Script } from './script.ts';

export type RunInPartition = (
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
export async function extendLeases(
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
export async function sweepPartitions(
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
