/** The replicas and switches of the gateways of one process, mostly for tests. */
import { type Clock, systemClock } from '../../clock.ts';
import {
  type ChannelSwitch,
  type ClusterStore,
  type Replica,
  replicaTtlMs,
} from '../../ports/cluster-store.ts';
import { aClock, checkMakerOptions, strict } from '../../ports/set-up.ts';

/** The clock that dates reports and switches. */
export interface MemoryClusterStoreOptions {
  /** What tells the time. Default: the machine's; a test passes a fake one. */
  readonly clock?: Clock;
}

const optionsSchema = strict('must be an object', { clock: aClock.optional() });

/**
 * A cluster store in memory; its methods return directly, never a promise.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function memoryClusterStore(options: MemoryClusterStoreOptions = {}): ClusterStore {
  checkMakerOptions('memoryClusterStore', optionsSchema, options);
  const { clock = systemClock() } = options;
  const replicas = new Map<string, Replica>();
  const switches = new Map<string, ChannelSwitch>();
  const isGone = ({ seenAtMs }: Replica): boolean => clock.now() - seenAtMs > replicaTtlMs;
  return {
    report: (replica) => {
      replicas.set(replica.id, { ...replica, seenAtMs: clock.now() });
      for (const known of replicas.values()) if (isGone(known)) replicas.delete(known.id);
    },
    leave: (replicaId) => {
      replicas.delete(replicaId);
    },
    read: () => ({
      replicas: [...replicas.values()]
        .filter((known) => !isGone(known))
        .sort((one, other) => byText(one.host, other.host) || one.pid - other.pid),
      switches: [...switches.values()].sort((one, other) => byText(one.channelId, other.channelId)),
    }),
    switchChannel: (change) => {
      const made = { ...change, atMs: clock.now() };
      switches.set(change.channelId, made);
      return made;
    },
  };
}

function byText(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}
