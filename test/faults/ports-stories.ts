/**
 * Rows F69–F73: what happens to a host while a call of its runs: clocks that jump, keys, quota,
 * prices and stores that change.
 */
import { staticCatalog } from '../../src/stores/memory/catalog.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { pass } from '../stages/failing.ts';
import type { Scene, SceneSetup } from '../stages/scene.ts';
import { sceneModels } from '../stages/scene-models.ts';
import { type Kind, kinds } from './row.ts';

/** A host in which something may happen. */
export interface Story {
  readonly setup: SceneSetup;
  /** The clock of the gateway, where it is not the scene’s. */
  readonly clock?: FakeClock;
  /** While the call is at the upstream. */
  meanwhile(scene: Scene): Promise<void> | void;
}

/** One row. */
export interface StoryRow {
  readonly id: string;
  /** One sentence. */
  readonly fault: string;
  readonly kinds: readonly Kind[];
  readonly tell: () => Story;
  /** The running call always ends well, and costs what it cost when it began. */
  readonly expected: {
    /** What the next call of this caller gets. */
    readonly next: 200 | 401 | 403;
  };
}

const hourMs = 3_600_000;

/** In the order of FAULTS §3.5. */
export const storyRows: readonly StoryRow[] = [
  {
    id: 'F69',
    fault: 'A quota store that loses every hold in a failover.',
    kinds,
    tell: () => {
      const stores = [memoryQuotaStore(), memoryQuotaStore()];
      let inUse = stores[0] ?? memoryQuotaStore();
      return {
        setup: {
          store: (quota) => ({
            reserve: (input) => inUse.reserve(input),
            extend: (inputs) => inUse.extend(inputs),
            // Where the test looks: what arrives there arrives without a hold.
            settle: (input) => quota.settle(input),
          }),
        },
        meanwhile: ({ clock }) => {
          inUse = stores[1] ?? inUse;
          return pass(clock, 15_000);
        },
      };
    },
    expected: { next: 200 },
  },
  ...[hourMs, -hourMs, 500, -500].map(
    (jumpMs): StoryRow => ({
      id: 'F70',
      fault: `A wall clock of this process that jumps by ${jumpMs} ms, three times.`,
      kinds,
      tell: () => {
        const jumping = jumpingClock();
        return {
          setup: { options: { clock: jumping.clock } },
          clock: jumping.clock,
          meanwhile: async () => {
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
    (change): StoryRow => ({
      id: 'F71',
      fault: `A key that is ${change} while its call runs.`,
      kinds,
      tell: () => {
        const keys = memoryKeyStore({ pepper: 'test', allowWeakKeys: true });
        keys.add('caller-secret', {
          id: 'caller',
          group: 'staff',
          disabled: false,
          quota: [{ id: 'caller', period: 'total', limitNanos: 1_000_000n }],
        });
        return {
          setup: { options: { keys } },
          meanwhile: () => {
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
    fault: 'A limit that is cut to nothing while a call runs: it ends, the next is refused.',
    kinds,
    tell: () => ({
      setup: {},
      meanwhile: ({ quota }) => {
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
    kinds,
    tell: () => ({
      setup: {},
      meanwhile: ({ gateway }) => {
        const models = sceneModels().map((model) => ({
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

/** A clock whose wall time jumps, while what never jumps does not. */
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
