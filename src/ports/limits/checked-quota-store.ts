/** The checks that every quota store has to make, around a store that makes none. */
import {
  checkAdjust,
  checkEnding,
  checkExtend,
  checkReserve,
  checkRow,
  checkSweep,
} from './quota-input.ts';
import type { QuotaStore } from './quota-store.ts';

/**
 * The store, which is called only with inputs that are legal: amounts from 0 to 2^53 − 1, ids,
 * sorted lines, leases. What depends on its rows stays with the store, such as a limit that key
 * records state. The package's own stores are made with it too.
 *
 * @throws RangeError, by the method that got an illegal input, which is a bug of the calling code
 */
export function checkedQuotaStore(store: QuotaStore): QuotaStore {
  return {
    durability: store.durability,
    reserve: (input, options) => {
      checkReserve(input);
      return store.reserve(input, options);
    },
    extend: (inputs, options) => {
      checkExtend(inputs);
      return store.extend(inputs, options);
    },
    settle: (input, options) => {
      checkEnding(input);
      return store.settle(input, options);
    },
    release: (input, options) => {
      checkEnding(input);
      return store.release(input, options);
    },
    sweep: (options) => {
      checkSweep(options);
      return store.sweep(options);
    },
    read: (subject, period, partition, options) => {
      checkRow(subject, period, partition);
      return store.read(subject, period, partition, options);
    },
    adjust: (input, options) => {
      checkAdjust(input);
      return store.adjust(input, options);
    },
    check: (options) => store.check(options),
    close: () => store.close(),
  };
}
