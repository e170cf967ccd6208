/** The events about the usage that upstreams report. */
import type { Nanos } from './money.ts';

/** What is unusual about a reported usage. */
export type UsageEvent =
  /**
   * `missing`: the upstream reported no usage, so the charge is based on the counted output.
   * `above_maximum`: it reported more than the model can use, so the model's maximum was charged.
   * `inconsistent`: the counts that it reported contradict each other (see `UsageRemarks`), so the
   * larger of them were charged.
   */
  | {
      readonly type: 'usage_anomaly';
      readonly requestId: string;
      readonly reason: 'missing' | 'above_maximum' | 'inconsistent';
    }
  /**
   * The reported usage costs more than the hold. It is charged in full, unless the channel has
   * `usageTrust: 'held'`.
   */
  | {
      readonly type: 'usage_anomaly';
      readonly requestId: string;
      readonly reason: 'above_hold';
      readonly heldNanos: Nanos;
      readonly usageNanos: Nanos;
    }
  /**
   * An upstream's usage has numbers that the gateway doesn't know, and which the charge does not
   * depend on: look whether the provider bills them. Emitted once for each channel, with at most
   * eight names: `details.new_tokens`.
   */
  | {
      readonly type: 'unknown_usage';
      readonly channelId: string;
      readonly members: readonly string[];
    };
