/**
 * Rows F69–F73: changes of a host while a call runs: clocks that jump, and keys, quota, prices and
 * stores that change.
 */
import { staticCatalog } from '../../../src/catalog/static-catalog.ts';
import { memoryKeyStore } from '../../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { type FakeClock, fakeClock } from '../../../src/testing/fake-clock.ts';
import { pass } from '../../stages/ports/failing.ts';
import type { GatewaySetup, InProcessGateway } from '../../support/gateway-in-process.ts';
import { defaultModels } from '../../support/models.ts';

/** A host, and the change that happens to it. */
export interface ChangeSetup {
  readonly setup: GatewaySetup;
  /** The clock of the gateway, if it is not the default one. */
  readonly clock?: FakeClock;
  /** While the call is at the upstream. */
  changeDuringCall(harness: InProcessGateway): Promise<void> | void;
}

/** One row. */
export interface ChangeRow {
  readonly id: string;
  /** One sentence. */
  readonly fault: string;
  readonly setUp: () => ChangeSetup;
  /** The running call always succeeds, at the price with which it began. */
  readonly expected: {
    /** The status of the caller's next call. */
    readonly next: 200 | 401 | 403;
  };
}

const hourMs = 3_600_000;

/** The rows. */
export const changeRows: readonly ChangeRow[] = [
  {
    id: 'F69',
    fault: 'A quota store that loses every hold in a failover.',
    setUp: () => {
      const stores = [memoryQuotaStore(), memoryQuotaStore()];
      let inUse = stores[0] ?? memoryQuotaStore();
      return {
        setup: {
          store: (quota) => ({
            reserve: (input) => inUse.reserve(input),
            extend: (inputs) => inUse.extend(inputs),
            // The store that the test reads: its settles arrive without a hold.
            settle: (input) => quota.settle(input),
          }),
        },
        changeDuringCall: ({ clock }) => {
          inUse = stores[1] ?? inUse;
          return pass(clock, 15_000);
        },
      };
    },
    expected: { next: 200 },
  },
  ...[hourMs, -hourMs, 500, -500].map(
    (jumpMs): ChangeRow => ({
      id: 'F70',
      fault: `A wall clock of this process that jumps by ${jumpMs} ms, three times.`,
      setUp: () => {
        const jumping = jumpingClock();
        return {
          setup: { options: { clock: jumping.clock } },
          clock: jumping.clock,
          changeDuringCall: async () => {
            for (let jump = 0; jump < 3; jump += 1) {
              jumping.jump(jumpMs);
              await pass(jumping.clock, 2_000);
            }
          },
        };
      },
      expected: { next: 200 },
    }),
  ),
  ...(['disabled', 'removed', 'of another group'] as const).map(
    (change): ChangeRow => ({
      id: 'F71',
      fault: `A key that is ${change} while its call runs.`,
      setUp: () => {
        const keys = memoryKeyStore({ pepper: 'test', allowWeakKeys: true });
        keys.add('caller-secret', {
          id: 'caller',
          group: 'staff',
          disabled: false,
          quota: [{ id: 'caller', period: 'total', limitNanos: 1_000_000n }],
        });
        return {
          setup: { options: { keys } },
          changeDuringCall: () => {
            if (change === 'removed') keys.remove('caller');
            if (change === 'disabled') keys.update('caller', { disabled: true });
            if (change === 'of another group') keys.update('caller', { group: 'others' });
          },
        };
      },
      expected: { next: change === 'of another group' ? 403 : 401 },
    }),
  ),
  {
    id: 'F72',
    fault: 'A limit that drops to nothing while a call runs: the call ends, the next is refused.',
    setUp: () => ({
      setup: {},
      changeDuringCall: ({ quota }) => {
        void quota.adjust({
          id: 'an-operator-did-this',
          partition: 'default',
          subject: 'caller',
          period: '',
          addLimit: -1_000_000n,
        });
      },
    }),
    expected: { next: 403 },
  },
  {
    id: 'F73',
    fault:
      'A price that is a million times higher, in a catalog that is changed while a call runs.',
    setUp: () => ({
      setup: {},
      changeDuringCall: ({ gateway }) => {
        const models = defaultModels().map((model) => ({
          ...model,
          price: {
            per: 'token' as const,
            rates: { input: 1_000_000_000_000n, output: 1_000_000_000_000n },
          },
        }));
        gateway.update({ catalog: staticCatalog(models) });
      },
    }),
    expected: { next: 403 },
  },
];

/** A clock whose wall time jumps, while its monotonic time does not. */
function jumpingClock(): { readonly clock: FakeClock; jump(ms: number): void } {
  const steady = fakeClock();
  let aheadMs = 0;
  return {
    clock: { ...steady, now: () => steady.now() + aheadMs },
    jump: (ms) => {
      aheadMs += ms;
    },
  };
}
