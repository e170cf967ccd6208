/**
 * What a host may observe. Events name a failure by code, reason and channel; the thrown error
 * stays inside, for a dial error holds the upstream's address.
 */
import type { Nanos } from './money.ts';
import type { ExtendInput, ReleaseInput, SettleInput } from './ports/quota-store.ts';
import type { UsageRecord } from './ports/usage-sink.ts';

/** A port of the host, as events name it. */
export type PortName =
  | 'keys'
  | 'quota'
  | 'catalog'
  | 'rate_limiter'
  | 'usage'
  | 'idempotency'
  | 'results';

/**
 * Why no channel can serve a call: none has a weight, none has the protocol, this group or this
 * price may use none; or all that may are switched off, as busy as they may be, or resting.
 */
export type NoChannelReason =
  | 'none_configured'
  | 'protocol'
  | 'group_restriction'
  | 'price_restriction'
  | 'switched_off'
  | 'busy'
  | 'cooling_down';

/** How an upstream account, or a model on it, stands. */
export interface HealthStatus {
  /**
   * `cooling_down`: after a 429, a 503, a 403, or because the account is exhausted.
   * `deprioritized`: it did not answer in time, or keeps three calls waiting while another channel
   * answers, so that others are chosen first. `open`: its circuit is open, after five failures or
   * two timeouts in a row; `half_open`: one call finds out whether it is back. `refused`: its
   * credential was not accepted. `off`: the host disabled it.
   */
  readonly state:
    | 'ready'
    | 'cooling_down'
    | 'deprioritized'
    | 'open'
    | 'half_open'
    | 'refused'
    | 'off';
  /** The finer name of what led to it; undefined where it is ready, or off. */
  readonly reason: string | undefined;
  /** Unix ms at which it is back, or tried out; undefined where no time does that. */
  readonly untilMs: number | undefined;
}

/** How the hold of a call ends, as it is sent to the quota store; money and ids, nothing else. */
export type HoldEnd =
  | { readonly operation: 'settle'; readonly input: SettleInput }
  | { readonly operation: 'release'; readonly input: ReleaseInput }
  /** An image whose outcome is not known: one long lease for the host to find out. */
  | { readonly operation: 'extend'; readonly input: ExtendInput };

/** Something a host may want to know, told apart by `type`. */
export type GatewayEvent =
  /** A call that had reserved quota is over; the same record went to the usage sink. */
  | { readonly type: 'call_ended'; readonly record: UsageRecord }
  /**
   * The quota store has taken a charge that it could not take at the end of its call: the record of
   * `call_ended` said `booked: false`, this one takes its place.
   */
  | { readonly type: 'call_booked'; readonly record: UsageRecord }
  /** One try on one channel failed; the caller may still have been served by another. */
  | {
      readonly type: 'upstream_failed';
      readonly requestId: string;
      /** Which try of the call it was, from 1. */
      readonly attempt: number;
      readonly modelId: string;
      readonly channelId: string;
      /** What the channel calls the model. */
      readonly upstreamModel: string;
      readonly status: number | undefined;
      readonly reason: string;
    }
  /** No channel could serve, and why, which the caller is not told. */
  | {
      readonly type: 'no_channel';
      readonly requestId: string;
      readonly modelId: string;
      readonly reason: NoChannelReason;
      /** What the caller was told to wait: until the soonest return, where one is known. */
      readonly retryAfterMs: number;
    }
  /**
   * A channel went to rest, is drawn last, was ejected, refused or switched off, or is back.
   * `upstreamModel` is undefined where it concerns the account with all its models.
   */
  | ({
      readonly type: 'channel_changed';
      readonly channelId: string;
      readonly upstreamModel: string | undefined;
    } & HealthStatus)
  /**
   * A port threw, hung, or answered what its contract does not allow; or, with the reason
   * `circuit_open`, was not asked, since it had let calls wait in vain three times in a row.
   */
  | {
      readonly type: 'port_failed';
      readonly requestId: string | undefined;
      readonly port: PortName;
      readonly operation: string;
      readonly reason: string;
    }
  /**
   * The quota store did not take the end of a hold for 15 minutes, or until the gateway closed. The
   * gateway gives up: a settle sent after so long could charge twice. `end` is what to put right.
   */
  | { readonly type: 'settlement_lost'; readonly requestId: string; readonly end: HoldEnd }
  /**
   * The quota store no longer had the hold of a call that still ran: `expired` where its lease ran
   * out, `unknown` where the store lost it. The call goes on, its quota unguarded, and is charged
   * at its end.
   */
  | {
      readonly type: 'hold_lapsed';
      readonly requestId: string;
      readonly reason: 'settled' | 'released' | 'expired' | 'unknown';
    }
  /**
   * `missing`: the upstream reported no usage, and the charge rests on what was counted.
   * `above_maximum`: it reported more than the model can use, and the model's maximum was charged.
   */
  | {
      readonly type: 'usage_anomaly';
      readonly requestId: string;
      readonly reason: 'missing' | 'above_maximum';
    }
  /**
   * The reported usage costs more than was held. It is charged in full, unless the channel says
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
   * 80 or 95 % of a subject's limit is used up in its period, once each in this process; what other
   * running calls hold counts as used. Only for subjects whose limit the key's record states.
   */
  | {
      readonly type: 'quota_low';
      readonly subject: string;
      /** `''` for all time, else `2026-11` or `2026-11-20`. */
      readonly period: string;
      readonly percent: 80 | 95;
      readonly limitNanos: Nanos;
      /** What is left, `adjust({ addLimit })` included; may be below zero. */
      readonly leftNanos: bigint;
    }
  /** Neither the caller nor the model bounds the output: such calls hold 16,384 tokens at first. */
  | { readonly type: 'no_stated_maximum'; readonly modelId: string }
  /** A parser of the host took the body and left nothing; `remedy` says what to change. */
  | { readonly type: 'body_consumed'; readonly requestId: string; readonly remedy: string }
  /** The file of a `jsonFileCatalog` has changed, and this many models are served from now on. */
  | { readonly type: 'catalog_loaded'; readonly source: string; readonly models: number }
  /** It is bad, and what was read last is still served. `reason` has the place and the cure. */
  | { readonly type: 'catalog_refused'; readonly source: string; readonly reason: string }
  /** A bug, of ours or of a port. `at` is the place in the code, without the message. */
  | {
      readonly type: 'internal_error';
      readonly requestId: string | undefined;
      readonly at: string;
    };

/** Takes events; what it throws is swallowed, what it returns is not awaited. */
export type EventListener = (event: GatewayEvent) => void;

/** The listener of the moment: a host's mistake there must not become a caller's. */
export function quietListener(listener: () => EventListener | undefined): EventListener {
  return (event) => {
    const heard = listener();
    if (heard !== undefined) swallowErrors(() => heard(event));
  };
}

/**
 * Calls what is a host's, at once. What it throws, or rejects with later, is swallowed: it must
 * neither end the process nor hold up whoever calls.
 */
export function swallowErrors(call: () => unknown): void {
  try {
    const said = call();
    // Any thenable: a promise may come from another library or another realm.
    if (typeof said === 'object' && said !== null) Promise.resolve(said).catch(() => {});
  } catch {
    // Nobody is left to tell: telling is what failed.
  }
}
