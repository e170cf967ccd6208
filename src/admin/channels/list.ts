/** Models and their channels, with the health that this process and the other replicas see. */

import type { ChannelSwitch } from '../../ports/cluster-store.ts';
import type { HealthStatus } from '../../ports/health-status.ts';
import type { Channel } from '../../ports/models/catalog.ts';
import type { ListedModel } from '../../ports/models/listed-model.ts';
import { upstreamModelOf } from '../../ports/models/model-defaults.ts';
import { platformText } from '../../ports/models/platform.ts';
import type { ClusterStatus } from '../../stages/cluster.ts';
import type { ChannelStatus } from '../../upstream/channel-status.ts';
import { AdminError } from '../admin-error.ts';
import { type Explained, explained } from '../calls/summary.ts';
import type { AdminDeps } from '../deps.ts';

/** A channel of a model, as this process sees it now. */
export interface ChannelRow extends HealthStatus, Explained {
  /** The upstream account, by the `id` of its channel. */
  readonly channelId: string;
  /** The wire format of the upstream: `openai`, `gemini` or `anthropic`. */
  readonly dialect: string;
  /** The platform that hosts it, and where: `bedrock us-east-1`; undefined for none. */
  readonly platform: string | undefined;
  /** The channel's name for the model. */
  readonly upstreamModel: string;
  /** Lower is tried first. */
  readonly priority: number;
  /** Its share of the calls within one priority. */
  readonly weight: number;
  /** The groups whose keys may use it; undefined for all groups of the model. */
  readonly groups: readonly string[] | undefined;
  /** How many calls are running on it, for any model. */
  readonly inFlight: number;
  /** How many may run on it at once in this process; undefined for no limit. */
  readonly maxConcurrentCalls: number | undefined;
  /**
   * The 95th percentile of the time to the first byte in the last hour; undefined without calls.
   */
  readonly firstByteP95Ms: number | undefined;
  /** Whether the catalog states what the channel costs the operator. */
  readonly hasCost: boolean;
  /** The latest switch by an operator that all replicas follow; undefined if there was none. */
  readonly switched: Omit<ChannelSwitch, 'channelId'> | undefined;
  /** Its state in each replica, this one first; empty if it is the same in all of them. */
  readonly replicas: readonly ReplicaState[];
}

/** The state of a channel in one replica. */
export interface ReplicaState extends HealthStatus {
  /** The name of the machine that it runs on. */
  readonly host: string;
  /** The id of its process on that machine. */
  readonly pid: number;
}

/** A model and its channels, by priority. */
export interface ModelChannels {
  /** The model, by its id in the catalog. */
  readonly modelId: string;
  /** Other names that callers may send. */
  readonly aliases: readonly string[];
  /** The groups whose keys may use it. */
  readonly groups: readonly string[];
  /** The channels of the model, by priority. */
  readonly channels: readonly ChannelRow[];
}

export function modelChannels({ gateway, stores, live }: AdminDeps): readonly ModelChannels[] {
  const statuses = new Map(gateway.channels().map((status) => [status.channelId, status]));
  const cluster = knownCluster(gateway.cluster());
  const row = (channel: Channel, model: ListedModel): ChannelRow => {
    const upstreamModel = upstreamModelOf(channel, model);
    const { priority = 0, weight = 1, groups, maxConcurrentCalls } = channel;
    const status = statuses.get(channel.id);
    return {
      ...{ channelId: channel.id, dialect: channel.dialect, upstreamModel },
      platform: platformText(channel.platform),
      ...{ priority, weight, groups },
      inFlight: status?.inFlight ?? 0,
      maxConcurrentCalls,
      firstByteP95Ms: live.channel(channel.id).recent.firstByteP95Ms,
      hasCost: channel.cost !== undefined,
      switched: cluster.switchOf(channel.id),
      replicas: cluster.statesOf(channel.id, upstreamModel),
      ...healthFor(status, upstreamModel),
    };
  };
  return (stores.catalog?.models?.() ?? []).map((model) => ({
    modelId: model.id,
    aliases: model.aliases ?? [],
    groups: model.groups,
    channels: model.channels
      .map((channel) => row(channel, model))
      .sort((one, other) => one.priority - other.priority),
  }));
}

/** The health of the account, or that of the model on it if only the model has a problem. */
function healthFor(
  status: ChannelStatus | undefined,
  upstreamModel: string,
): HealthStatus & Explained {
  const own = status?.models.find((model) => model.upstreamModel === upstreamModel);
  const health = status === undefined || status.state !== 'ready' ? status : (own ?? status);
  const { state = 'ready', reason, untilMs } = health ?? {};
  return { state, reason, untilMs, ...explained(reason) };
}

function knownCluster({ replicas, switches }: ClusterStatus) {
  const known = new Map(switches.map(({ channelId, ...made }) => [channelId, made]));
  return {
    switchOf: (channelId: string) => known.get(channelId),
    statesOf: (channelId: string, upstreamModel: string): readonly ReplicaState[] => {
      const found = replicas.map(({ host, pid, channels }) => {
        const own = channels.filter((report) => report.channelId === channelId);
        const { state, reason, untilMs } =
          own.find((report) => report.upstreamModel === undefined) ??
          own.find((report) => report.upstreamModel === upstreamModel) ??
          ready;
        return { host, pid, state, reason, untilMs };
      });
      return new Set(found.map(({ state }) => state)).size > 1 ? found : [];
    },
  };
}

const ready: HealthStatus = { state: 'ready', reason: undefined, untilMs: undefined };

/** Without this check, a misspelt id would change nothing and report success. */
export function checkKnown({ stores: { catalog }, gateway }: AdminDeps, channelId: string): void {
  const models = catalog?.models?.();
  const isServed = models?.some(({ channels }) => channels.some(({ id }) => id === channelId));
  const wasCalled = gateway.channels().some((status) => status.channelId === channelId);
  if (isServed === false && !wasCalled) throw noChannel(channelId);
}

export function noChannel(channelId: string): AdminError {
  return new AdminError('not_found', `There is no channel "${channelId.slice(0, 128)}".`);
}
