/**
 * The port by which the processes that serve the same models see each other, and switch channels
 * together. No call waits for it.
 */
import type { CallOptions, MaybePromise } from './call-options.ts';
import type { HealthStatus } from './health-status.ts';

/** A replica that did not report for this long is gone. */
export const replicaTtlMs = 60_000;

/** The health of a channel in one replica, or of one model on it. */
export interface ReplicaChannel extends HealthStatus {
  /** The upstream account, by the `id` of its channel. */
  readonly channelId: string;
  /** The channel's name for the model; undefined for the whole channel. */
  readonly upstreamModel: string | undefined;
}

/** What a process reports of itself every few seconds. */
export interface ReplicaReport {
  /** Up to 128 characters; a process has a new one after each start. */
  readonly id: string;
  /** The name of its machine; in Kubernetes that of its pod. */
  readonly host: string;
  /** The number of the process on its machine. */
  readonly pid: number;
  /** The version of this package. */
  readonly version: string;
  /** Unix ms, by the clock of its machine. */
  readonly startedAtMs: number;
  /** The channels that are not ready there, at most 200. */
  readonly channels: readonly ReplicaChannel[];
}

/** A report, and when the store received it. */
export interface Replica extends ReplicaReport {
  /** Unix ms, by the clock of the store. */
  readonly seenAtMs: number;
}

/** Whether an operator has disabled a channel, in all replicas. */
export interface ChannelSwitch {
  /** The upstream account, by the `id` of its channel. */
  readonly channelId: string;
  /** Whether the channel is off and takes no calls. */
  readonly isOff: boolean;
  /** Who switched it, up to 256 characters. */
  readonly actor: string;
  /** Unix ms, by the clock of the store. */
  readonly atMs: number;
}

/** What a replica knows of all. */
export interface ClusterView {
  /** Those that reported within the last minute, by host and process. */
  readonly replicas: readonly Replica[];
  /** The latest switch of each channel that was ever switched, by channel. */
  readonly switches: readonly ChannelSwitch[];
}

/**
 * Keeps the reports of replicas, and the switches of channels. Any method may throw; the gateway
 * then goes on with what it knows, and tries again 2 s later.
 */
export interface ClusterStore {
  /** Replaces the report of a replica, and deletes the reports that are older than a minute. */
  report(replica: ReplicaReport, options?: CallOptions): MaybePromise<void>;
  /** Deletes the report of a replica that ends. */
  leave(replicaId: string, options?: CallOptions): MaybePromise<void>;
  /** Reads all, as it is now: a switch is seen once its call has ended. */
  read(options?: CallOptions): MaybePromise<ClusterView>;
  /** Replaces the switch of a channel; the last one wins. */
  switchChannel(
    change: Omit<ChannelSwitch, 'atMs'>,
    options?: CallOptions,
  ): MaybePromise<ChannelSwitch>;
}
