/** The events about usage: what upstreams report, and how much of a quota is used. */
import type { Nanos } from '../money.ts';
import type { UsageRecord } from '../ports/usage-sink.ts';

/** What is unusual about a reported usage, and quotas that are nearly used. */
export type UsageEvent =
  /**
   * `missing`: the upstream reported no usage, so the charge is based on the counted output.
   * `above_maximum`: it reported more than the model can use, so the model's maximum was charged.
   * `inconsistent`: the counts that it reported contradict each other (see `UsageRemarks`), so the
   * larger of them were charged.
   */
  | {
      readonly type: 'usage_anomaly';
      /** The `x-request-id` of the reply. */
      readonly requestId: string;
      /** What is unusual, as listed above. */
      readonly reason: 'missing' | 'above_maximum' | 'inconsistent';
    }
  /**
   * The reported usage costs more than the hold. It is charged in full, unless the channel has
   * `usageTrust: 'held'`.
   */
  | {
      readonly type: 'usage_anomaly';
      /** The `x-request-id` of the reply. */
      readonly requestId: string;
      readonly reason: 'above_hold';
      /** What the call held, in nanos. */
      readonly heldNanos: Nanos;
      /** What the reported usage costs, in nanos. */
      readonly usageNanos: Nanos;
    }
  /**
   * An upstream's usage has numbers that the gateway doesn't know, and which the charge does not
   * depend on: look whether the provider bills them. Emitted once for each channel, with at most
   * eight names: `details.new_tokens`.
   */
  | {
      readonly type: 'unknown_usage';
      /** The upstream account, by the `id` of its channel. */
      readonly channelId: string;
      /** The names that are not known, by their path. */
      readonly members: readonly string[];
    }
  /**
   * 80, 95 or 100 % of a subject's quota is used in its period. Emitted by the call whose charge
   * crosses the percentage, or, for 100, that is refused for lack of quota when at least 95 % is
   * used: docs/quota.md#levels.
   */
  | {
      readonly type: 'quota_low';
      /** The subject that is charged, by its id. */
      readonly subject: string;
      /** `''` for `total`, else `2026-11` or `2026-11-20`. */
      readonly period: string;
      /** The level that was crossed. */
      readonly percent: QuotaPercent;
      /** The limit, including `adjust({ addLimit })`. */
      readonly limitNanos: Nanos;
      /** What was charged in the period, in nanos. */
      readonly usedNanos: bigint;
      /** The key of the call, one of those that share the subject. */
      readonly keyId: string;
      /** As in the call's usage record. */
      readonly metadata: UsageRecord['metadata'];
    };

/** How much of a quota is used when `quota_low` is emitted. */
export type QuotaPercent = 80 | 95 | 100;
