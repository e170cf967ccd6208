/**
 * What a host may observe. Events name a failure by code, reason and channel; the thrown error
 * stays inside, for a dial error holds the upstream's address.
 */
import type { UsageRecord } from './ports/usage-sink.ts';

/** A port of the host, as events name it. */
export type PortName = 'keys' | 'quota' | 'catalog' | 'rate_limiter' | 'usage';

export type GatewayEvent =
  /** A call that had reserved quota is over; the same record went to the usage sink. */
  | { readonly type: 'call_ended'; readonly record: UsageRecord }
  /** One try on one channel failed; the caller may still have been served by another. */
  | {
      readonly type: 'upstream_failed';
      readonly requestId: string;
      readonly modelId: string;
      readonly channelId: string;
      readonly status: number | undefined;
      readonly reason: string;
    }
  /** No channel could serve, and why, which the caller is not told. */
  | {
      readonly type: 'no_channel';
      readonly requestId: string;
      readonly modelId: string;
      readonly reason: 'none_configured' | 'price_restriction' | 'protocol';
    }
  /** A port threw, hung, or answered what its contract does not allow. */
  | {
      readonly type: 'port_failed';
      readonly requestId: string | undefined;
      readonly port: PortName;
      readonly operation: string;
      readonly reason: string;
    }
  /** The upstream's figures were absent or absurd, so the charge rests on something else. */
  | { readonly type: 'usage_anomaly'; readonly requestId: string; readonly reason: string }
  /** Neither the caller nor the model bounds the output: every such call holds 16,384 tokens. */
  | { readonly type: 'no_stated_maximum'; readonly modelId: string }
  /** A parser of the host took the body and left nothing; `cure` says what to change. */
  | { readonly type: 'body_consumed'; readonly requestId: string; readonly cure: string }
  /** A bug of ours. `at` is the place in the code, without the message. */
  | { readonly type: 'internal_error'; readonly requestId: string; readonly at: string };

/** Takes events; what it throws is swallowed, what it returns is not awaited. */
export type EventListener = (event: GatewayEvent) => void;
