/**
 * A gateway behind a mount, called over HTTP: memory stores, the fake upstream, a catalog with one
 * model of each kind, and a key for each kind of caller.
 */

import { createServer } from 'node:http';
import { nodeAdapter } from 'tollgate/node';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import type { GatewayEvent } from '../../src/events/events.ts';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import type { GatewayOptions } from '../../src/gateway-options.ts';
import { issueKey } from '../../src/issue-key.ts';
import { defaultPartition } from '../../src/ports/limits/quota-input.ts';
import type { Model } from '../../src/ports/models/catalog.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { type MemoryKeyStore, memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import type { FakeUpstream } from '../../src/testing/providers/server.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { countedIds } from './counted-ids.ts';
import { checkEvent, isNotable } from './laws/event-checks.ts';
import { mountedModels } from './mounted-models.ts';
import { recordLog } from './record-log.ts';
import { leftIn, notedHolds } from './runner/leftovers.ts';
import { closed, listening } from './servers.ts';
// Loaded here, so that the first translated call of a file takes no longer than the others.
import '../../src/stages/prepare/call-translator.ts';
import './codecs.ts';

/** Who calls: a key of each group, and keys that are refused. */
export type CallerName = 'chat' | 'image' | 'native' | 'disabled' | 'expired' | 'poor';

/** A gateway in front of a fake upstream; no server of its own. */
export interface UnmountedGateway {
  readonly gateway: Gateway;
  readonly upstream: FakeUpstream;
  readonly keys: MemoryKeyStore;
  readonly records: readonly UsageRecord[];
  /** The secret of each caller's key. */
  readonly secrets: Readonly<Record<CallerName, string>>;
  /** The events in order, without those of every call's regular course. */
  readonly events: readonly GatewayEvent[];
  /** The next record of the usage log, each returned once; waits until there is one. */
  nextRecord(): Promise<UsageRecord>;
  /** Closes the gateway after its running calls, and returns what is still held. */
  drained(): Promise<{ readonly heldNanos: bigint; readonly inFlight: number }>;
  /** Closes the gateway and the upstream. */
  close(): Promise<void>;
}

/** A {@link UnmountedGateway} on bare `node:http`. */
export interface MountedGateway extends UnmountedGateway {
  /** `http://127.0.0.1:49152` */
  readonly origin: string;
}

/** The credential that the upstream requires; callers do not know it. */
export const upstreamSecret = 'sk-upstream-0123456789abcdef';

const largeLimitNanos = 1_000_000_000_000n;
const callers: Readonly<Record<CallerName, Parameters<typeof issueKey>[0]>> = {
  chat: { id: 'chat-key', group: 'chat', limitNanos: largeLimitNanos },
  image: { id: 'image-key', group: 'image', limitNanos: largeLimitNanos },
  native: { id: 'native-key', group: 'native', limitNanos: largeLimitNanos },
  disabled: { id: 'disabled-key', group: 'chat', limitNanos: largeLimitNanos, disabled: true },
  expired: { id: 'expired-key', group: 'chat', limitNanos: largeLimitNanos, expiresAtMs: 1 },
  poor: { id: 'poor-key', group: 'image', limitNanos: 1n },
};

/** Makes the models that are served by this upstream. */
export type ModelsOf = (upstream: FakeUpstream, credential: string) => readonly Model[];

/** Creates a gateway that the test mounts itself; `options` override the default ones. */
export async function unmountedGateway(
  options: Partial<GatewayOptions> = {},
  models: ModelsOf = mountedModels,
): Promise<UnmountedGateway> {
  const upstream = await startStrictUpstream({ apiKey: upstreamSecret });
  const keys = memoryKeyStore();
  const holds = notedHolds(memoryQuotaStore());
  const { quota } = holds;
  const events: GatewayEvent[] = [];
  const log = recordLog();
  const secrets = Object.fromEntries(
    Object.entries(callers).map(([name, caller]) => {
      const { secret, key } = issueKey(caller);
      keys.add(secret, key);
      return [name, secret];
    }),
  );
  const gateway = createGateway({
    keys,
    quota,
    catalog: staticCatalog(models(upstream, upstreamSecret)),
    usage: { record: log.add, close: async () => {} },
    onEvent: (event) => {
      checkEvent(event);
      if (isNotable(event)) events.push(event);
    },
    ids: countedIds(),
    ...options,
  });

  const drained = async () => {
    await gateway.close();
    const states = await Promise.all(
      Object.values(callers).map(({ id = '' }) => quota.read(id, '', defaultPartition)),
    );
    return {
      heldNanos: states.reduce((sum, state) => sum + (state?.held ?? 0n), 0n),
      inFlight: states.reduce((sum, state) => sum + (state?.inFlight ?? 0), 0),
    };
  };

  return {
    gateway,
    upstream,
    keys,
    records: log.records,
    secrets: named(secrets),
    events,
    nextRecord: log.next,
    drained,
    close: async () => {
      await gateway.close({ drainMs: 1 });
      await upstream.close();
      const left = await leftIn({ gateway, others: holds.left, abandon: () => {} });
      if (left.length > 0) throw new Error(`The gateway has not given back ${left.join(', ')}.`);
    },
  };
}

/** Creates a gateway on bare `node:http`. */
export async function mountedGateway(
  options: Partial<GatewayOptions> = {},
  models: ModelsOf = mountedModels,
): Promise<MountedGateway> {
  const harness = await unmountedGateway(options, models);
  const server = createServer(nodeAdapter(harness.gateway));
  const origin = await listening(server);
  return {
    ...harness,
    origin,
    close: async () => {
      await closed(server);
      await harness.close();
    },
  };
}

/** The header with the key of a chat or image call. */
export function bearer(secret: string): { readonly authorization: string } {
  return { authorization: `Bearer ${secret}` };
}

/** The header with the key of a native call. */
export function vendorKey(secret: string): { readonly 'x-vendor-api-key': string } {
  return { 'x-vendor-api-key': secret };
}

function named(secrets: Readonly<Record<string, string>>): Readonly<Record<CallerName, string>> {
  const of = (name: CallerName): string => secrets[name] ?? '';
  return {
    chat: of('chat'),
    image: of('image'),
    native: of('native'),
    disabled: of('disabled'),
    expired: of('expired'),
    poor: of('poor'),
  };
}
