/**
 * Stores with faults that shipped gateways had, which the proofs must find, and a wrapper that lets
 * operations on a memory store overlap, which must pass.
 */

import type { QuotaStore, ReserveInput } from '../../src/ports/limits/quota-store.ts';
import { drawn } from '../support/seeds.ts';

/** The same store with latency: each request and each reply takes a few turns. */
export function distant(store: QuotaStore, seed: number): QuotaStore {
  const draw = drawn(seed);
  const far = async <T>(question: () => T): Promise<Awaited<T>> => {
    await turns(draw(4));
    const answer = await question();
    await turns(draw(4));
    return answer;
  };
  return {
    durability: store.durability,
    reserve: (input, options) => far(() => store.reserve(input, options)),
    extend: (inputs, options) => far(() => store.extend(inputs, options)),
    settle: (input, options) => far(() => store.settle(input, options)),
    release: (input, options) => far(() => store.release(input, options)),
    sweep: (options) => far(() => store.sweep(options)),
    read: (subject, period, partition, options) =>
      far(() => store.read(subject, period, partition, options)),
    adjust: (input, options) => far(() => store.adjust(input, options)),
    check: (options) => far(() => store.check(options)),
    close: () => far(() => store.close()),
  };
}

/**
 * Checks whether a hold fits, then takes it without checking again, so two that check concurrently
 * both fit. For a store that replies synchronously.
 */
export function checksThenActs(sound: QuotaStore): QuotaStore {
  let count = 0;
  const raiseLimits = (input: ReserveInput, addLimit: bigint): void => {
    for (const { subject, period } of input.lines) {
      const id = `raising-number-${1_000 + ++count}`;
      void sound.adjust({ id, partition: input.partition, subject, period, addLimit });
    }
  };
  return {
    ...sound,
    reserve: async (input) => {
      for (const { subject, period, amount } of input.lines) {
        const state = await sound.read(subject, period, input.partition);
        if (state === undefined) return sound.reserve(input);
        const remaining = state.limit + state.extra - state.used - state.held;
        if (remaining < amount) return sound.reserve(input);
      }
      await turns(2);
      raiseLimits(input, plenty);
      const result = await sound.reserve(input);
      raiseLimits(input, -plenty);
      if (result.status !== 'held') return result;
      return { ...result, available: result.available.map((remaining) => remaining - plenty) };
    },
  };
}

const plenty = 1_000_000n;

/** Releases a hold as often as `release` is called, as counters without an id do. */
export function refundsTwice(sound: QuotaStore): QuotaStore {
  let count = 0;
  return {
    ...sound,
    release: async (input, options) => {
      const result = await sound.release(input, options);
      if (result.status !== 'already' || result.as !== 'released') return result;
      for (const { subject, period, amount } of input.lines) {
        const id = `refund-number-${1_000 + ++count}`;
        await sound.adjust({ id, partition: input.partition, subject, period, addLimit: amount });
      }
      return result;
    },
  };
}

/** Charges a repeated settle again, because it does not check for idempotence. */
export function chargesTwice(sound: QuotaStore, processId: number = 0): QuotaStore {
  let count = 0;
  return {
    ...sound,
    settle: async (input, options) => {
      const result = await sound.settle(input, options);
      if (result.status !== 'already') return result;
      // With a new id, the store can't recognise the repetition.
      await sound.settle(
        { ...input, id: `charge-number-${processId}-${1_000 + ++count}` },
        options,
      );
      return result;
    },
  };
}

/** Returns earlier reads, as a cache in front of the store does. */
export function readsStale(sound: QuotaStore): QuotaStore {
  const seen = new Map<string, Awaited<ReturnType<QuotaStore['read']>>>();
  return {
    ...sound,
    read: async (subject, period, partition, options) => {
      const before = seen.get(subject);
      const now = await sound.read(subject, period, partition, options);
      seen.set(subject, now);
      return before ?? now;
    },
  };
}

/** Waits for this many turns of the event loop. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
}
