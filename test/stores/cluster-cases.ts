/** What cluster stores must do, and that gateways over one agree about the switches of channels. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import type { GatewayEvent } from '../../src/events/events.ts';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import { type MaybePromise, StoreUnavailable } from '../../src/ports/call-options.ts';
import type { ClusterStore, ReplicaReport } from '../../src/ports/cluster-store.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';

/** Empty tables, and what makes a store over them for a process. */
export interface ClusterTables {
  newStore(): ClusterStore;
  /** Advances the clock of the store. */
  advance(ms: number): MaybePromise<void>;
}

export function clusterStoreCases(emptied: () => MaybePromise<ClusterTables>): void {
  it('keeps the latest report of each replica, by host and process', async () => {
    const { newStore, advance } = await emptied();
    const [one, other] = [newStore(), newStore()];
    const odd = { channelId: 'a"\\ü😀', upstreamModel: 'm', reason: 'rate', untilMs: 5 } as const;
    const channels = [{ ...odd, state: 'open' }, whole('b')] as const;

    await one.report(replica('r2', { host: 'b' }));
    await other.report(replica('r1', { host: 'a', pid: 10 }));
    await other.report(replica('r0', { host: 'a', pid: 9 }));
    await advance(1_000);
    await one.report(replica('r2', { host: 'b', channels }));

    const { replicas } = await other.read();
    const [first, , last] = replicas;
    expect(replicas.map(({ id }) => id)).toEqual(['r0', 'r1', 'r2']);
    expect(last).toEqual({
      ...replica('r2', { host: 'b', channels }),
      seenAtMs: (first?.seenAtMs ?? 0) + 1_000,
    });
  });

  it('forgets a replica that left, or was silent for a minute', async () => {
    const { newStore, advance } = await emptied();
    const store = newStore();
    for (const id of ['a', 'b', 'c']) await store.report(replica(id, { host: id }));
    const idsNow = async () => (await store.read()).replicas.map(({ id }) => id);

    await store.leave('b');
    expect(await idsNow()).toEqual(['a', 'c']);
    await advance(60_000);
    expect(await idsNow()).toEqual(['a', 'c']);
    await store.report(replica('c', { host: 'c' }));
    await advance(1);

    expect(await idsNow()).toEqual(['c']);
  });

  it('keeps the last switch of each channel, with who made it and when', async () => {
    const { newStore, advance } = await emptied();
    const [one, other] = [newStore(), newStore()];
    const first = await one.switchChannel({ channelId: 'b', isOff: true, actor: 'ada' });
    await one.switchChannel({ channelId: 'a', isOff: true, actor: 'bob@x.example' });
    await advance(500);

    const last = await other.switchChannel({ channelId: 'b', isOff: false, actor: 'ü"\\' });

    expect(last).toEqual({ channelId: 'b', isOff: false, actor: 'ü"\\', atMs: first.atMs + 500 });
    const { switches } = await one.read();
    expect(switches).toEqual([
      { channelId: 'a', isOff: true, actor: 'bob@x.example', atMs: first.atMs },
      last,
    ]);
  });
}

function whole(channelId: string) {
  const none = { upstreamModel: undefined, reason: undefined, untilMs: undefined };
  return { channelId, state: 'off' as const, ...none };
}

function replica(id: string, change: Partial<ReplicaReport> = {}): ReplicaReport {
  const about = { host: 'gw-7f9c', pid: 1, version: '0.1.0', startedAtMs: 1_767_225_600_000 };
  return { id, ...about, channels: [], ...change };
}

const channelIds = ['a', 'b', 'c'] as const;
type Fault = 'none' | 'before' | 'after' | 'hangs';

type Step =
  | {
      readonly kind: 'switch';
      readonly at: number;
      readonly channel: number;
      readonly off: boolean;
    }
  | { readonly kind: 'restart'; readonly at: number }
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'faults'; readonly next: readonly Fault[] }
  | { readonly kind: 'agree' };

const aFault = fc.constantFrom<Fault>('none', 'before', 'after', 'hangs');
const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('switch' as const),
        ...{ at: fc.nat(2), channel: fc.nat(2), off: fc.boolean() },
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), at: fc.nat(2) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('wait' as const),
        seconds: fc.integer({ min: 1, max: 7 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('faults' as const),
        next: fc.array(aFault, { minLength: 1, maxLength: 9 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('agree' as const) }) },
  ),
  { minLength: 1, maxLength: 16 },
);

export function agreementCases(emptied: () => MaybePromise<ClusterTables>, runs: number): void {
  describe.each([2, 3])('%i gateways', (count) => {
    it('agree about every channel 5 s after a switch, whatever the store did before', async () => {
      const property = fc.asyncProperty(steps, async (todo) => {
        const cluster = await clusterOf(await emptied(), count);
        for (const step of [...todo, { kind: 'agree' } as const]) await cluster.run(step);
        await cluster.close();
      });
      await fc.assert(property, { numRuns: runs });
    });
  });

  it('each sees the others, and no longer one that has ended', async () => {
    const cluster = await clusterOf(await emptied(), 3);
    await cluster.run({ kind: 'wait', seconds: 8 });

    expect(cluster.seen()).toEqual([3, 3, 3]);
    await cluster.end();
    await cluster.run({ kind: 'wait', seconds: 3 });

    expect(cluster.seen()).toEqual([2, 2]);
    await cluster.close();
    expect(await cluster.rows()).toBe(0);
  });

  it('an outage is reported once, and changes no channel', async () => {
    const cluster = await clusterOf(await emptied(), 2);
    await cluster.run({ kind: 'switch', at: 0, channel: 1, off: true });
    await cluster.run({ kind: 'agree' });
    cluster.fail(true);
    await cluster.run({ kind: 'wait', seconds: 60 });

    expect(cluster.states()).toEqual([['b'], ['b']]);
    const failed = cluster.events().filter(({ type }) => type === 'port_failed');
    expect(failed.map((event) => 'operation' in event && event.operation).sort()).toEqual([
      ...['read', 'read', 'report', 'report'],
    ]);
    cluster.fail(false);
    await cluster.close();
  });
}

/** Gateways over one store, whose clock goes on with theirs. */
async function clusterOf({ newStore, advance }: ClusterTables, count: number) {
  const clock = fakeClock();
  const store = newStore();
  const events: GatewayEvent[] = [];
  const world: World = { pending: 0, faults: [], isDown: false };
  const open = async (): Promise<Gateway> => {
    const gateway = gatewayOver(faulty(newStore(), world), clock, events);
    await idle(world, gateway.ready());
    return gateway;
  };
  const gateways: Gateway[] = [];
  for (let index = 0; index < count; index += 1) gateways.push(await open());
  const seconds = async (number: number): Promise<void> => {
    for (let passed = 0; passed < number; passed += 1) {
      clock.advance(1_000);
      await advance(1_000);
      await idle(world);
    }
  };
  const close = async (gateway: Gateway | undefined): Promise<void> => {
    const closed = gateway?.close({ drainMs: 1 });
    // A store that hangs is given up after 2 s.
    await seconds(3);
    await closed;
  };
  const states = () => gateways.map(offIn);
  const run = async (step: Step): Promise<void> => {
    const gateway = gateways['at' in step ? step.at % count : 0];
    if (step.kind === 'wait') return seconds(step.seconds);
    if (step.kind === 'faults') return void world.faults.push(...step.next);
    if (step.kind === 'restart') {
      await close(gateway);
      gateways[step.at % count] = await open();
      return;
    }
    if (step.kind === 'switch') {
      const channelId = channelIds[step.channel] ?? 'a';
      const change = { channelId, isOff: step.off, actor: `actor-${step.at}` };
      let outcome: 'done' | 'failed' | undefined;
      const done = gateway?.switchChannel(change).then(
        () => {
          outcome = 'done';
        },
        () => {
          outcome = 'failed';
        },
      );
      await idle(world, done);
      // It waits for a read that hangs, and may hang itself.
      for (let passed = 0; outcome === undefined && passed < 5; passed += 1) await seconds(1);
      expect(outcome).toBeDefined();
      if (outcome === 'done')
        expect((await store.read()).switches).toContainEqual(matching(change));
      return;
    }
    world.faults.length = 0;
    await seconds(5);
    const { switches } = await store.read();
    const off = switches.filter(({ isOff }) => isOff).map(({ channelId }) => channelId);
    expect(states()).toEqual(gateways.map(() => off));
    for (const one of gateways) expect(one.cluster().switches.toSorted(byId)).toEqual(switches);
  };
  return {
    ...{ run, states },
    events: () => events,
    seen: () => gateways.map((gateway) => gateway.cluster().replicas.length),
    fail: (isDown: boolean) => {
      world.isDown = isDown;
    },
    end: () => close(gateways.pop()),
    close: async () => {
      world.faults.length = 0;
      for (const gateway of gateways) await close(gateway);
    },
    rows: async () => (await store.read()).replicas.length,
  };
}

function matching(change: object) {
  return expect.objectContaining(change);
}

function byId(one: { readonly channelId: string }, other: { readonly channelId: string }): number {
  return one.channelId < other.channelId ? -1 : 1;
}

function offIn(gateway: Gateway): readonly string[] {
  return gateway
    .channels()
    .filter(({ state }) => state === 'off')
    .map(({ channelId }) => channelId)
    .sort();
}

function gatewayOver(cluster: ClusterStore, clock: FakeClock, events: GatewayEvent[]): Gateway {
  return createGateway({
    ...{ keys: memoryKeyStore(), quota: memoryQuotaStore({ clock }), catalog: staticCatalog([]) },
    ...{ cluster, clock, onEvent: (event) => events.push(event) },
  });
}

interface World {
  pending: number;
  readonly faults: Fault[];
  isDown: boolean;
}

/** A store that does what the next fault says. */
function faulty(store: ClusterStore, world: World): ClusterStore {
  const ask = async <T>(operation: () => MaybePromise<T>): Promise<T> => {
    const fault = world.isDown ? 'before' : (world.faults.shift() ?? 'none');
    if (fault === 'hangs') return new Promise(() => {});
    world.pending += 1;
    try {
      if (fault === 'before') throw new StoreUnavailable('the store is down');
      const answer = await operation();
      if (fault === 'after') throw new StoreUnavailable('the connection broke');
      return answer;
    } finally {
      world.pending -= 1;
    }
  };
  return {
    report: (report) => ask(() => store.report(report)),
    leave: (id) => ask(() => store.leave(id)),
    read: () => ask(() => store.read()),
    switchChannel: (change) => ask(() => store.switchChannel(change)),
  };
}

/** Waits until no call of the store is running, and until a promise is settled, if it can be. */
async function idle(world: World, done: Promise<unknown> = Promise.resolve()): Promise<void> {
  let isDone = false;
  void done.finally(() => {
    isDone = true;
  });
  for (let quiet = 0; quiet < 4 || world.pending > 0; quiet += 1) await nextTurn();
  for (let turns = 0; !isDone && turns < 40; turns += 1) await nextTurn();
}
