/**
 * The events that a host can observe. They identify a failure by code, reason and channel. What the
 * host's own functions threw is not enumerable; connection errors, which contain the upstream's
 * address, are left out.
 */
import type { OperationName } from '../apis.ts';
import type { ErrorCode } from '../errors.ts';
import type { FailureReason, NoChannelReason } from '../failure-reasons.ts';
import type { HealthStatus } from '../ports/health-status.ts';
import type { ExtendInput, ReleaseInput, SettleInput } from '../ports/limits/quota-store.ts';
import type { DialectName } from '../ports/models/capabilities.ts';
import type { PortFailure } from '../ports/port-failure.ts';
import type { UsageRecord } from '../ports/usage-sink.ts';
import type {
  OfAttempt,
  OfCall,
  OfChannel,
  OfFile,
  OfKey,
  OfModel,
  OfReply,
  OfRequest,
  RefusedFile,
} from './members.ts';
import type { NotificationFailure, NotificationType } from './notification-types.ts';
import type { UsageEvent } from './usage.ts';

/** The end of a hold as sent to the quota store; contains only money and ids. */
export type HoldEnd =
  | {
      readonly operation: 'settle';
      /** What `settle` of the quota store has to be called with. */
      readonly input: SettleInput;
    }
  | {
      readonly operation: 'release';
      /** What `release` of the quota store has to be called with. */
      readonly input: ReleaseInput;
    }
  /** A call whose outcome is unknown: one long lease, in which the host can find out. */
  | {
      readonly operation: 'extend';
      /** What `extend` of the quota store was called with. */
      readonly input: ExtendInput;
    };

/** An event; `JSON.stringify` works on each, and makes amounts decimal strings of nanos. */
export type GatewayEvent =
  /** A request was refused before it had reserved quota. */
  | ({
      readonly type: 'call_refused';
      /** As in docs/errors.md. */
      readonly code: ErrorCode;
      /** More specific than the code. */
      readonly reason: FailureReason | undefined;
      /** The HTTP status that the caller got; 499 if it had disconnected. */
      readonly status: number;
      /**
       * The member of the request that is wrong, as in the caller's error:
       * `messages[0].content[1]`. Left out like `requestedModel`, but may have `[` and `]`.
       */
      readonly param?: string;
      /**
       * The limit that was reached: whose it is (`key`, `model`, `gateway`, or `quota` for one that
       * keys share; `key/model` for what the key may use of the model), and what it counts:
       * `key:calls/minute`, `quota:tokens/day`, `key:concurrent_calls`.
       */
      readonly limit?: string;
      /** Of a `route_not_found`, without the gateway's prefix. Left out like `requestedModel`. */
      readonly path?: string;
      /**
       * The model that the caller named, which need not exist. Left out if it was not read, above
       * 64 characters, with others than `A-Za-z0-9._:/-`, if it looks like a key of the gateway, or
       * if it has twelve characters in a row of what the request has as key or cookie.
       */
      readonly requestedModel?: string;
      /**
       * What you can do so that such a call is not refused, where the reason does not say it: the
       * group and the model's `groups`, the quota subject with its limit, what is left and what the
       * call needs, the member of the model's record that allows a member, `allowQueryKey`.
       */
      readonly remedy?: string;
    } & OfRequest)
  /** A request with an `Idempotency-Key` got the kept reply of the call that it repeats. */
  | ({
      readonly type: 'call_repeated';
      /** The request id of the call that ran. */
      readonly originalRequestId: string | undefined;
    } & OfRequest)
  /** A call has reserved quota, and goes to its upstream next. */
  | ({
      readonly type: 'call_started';
      /** What the API is asked to do, such as `content` or `embed`. */
      readonly operation: OperationName;
      /** Whether the caller asked for a stream. */
      readonly streamed: boolean;
      /** The host's labels of the key, and of a guard. */
      readonly metadata: UsageRecord['metadata'];
      /** Unix ms, as in the usage record. */
      readonly startedAtMs: number;
    } & OfCall &
      OfKey &
      OfModel)
  /** The call is sent to a channel next. */
  | ({
      readonly type: 'attempt_started';
      /** The wire format of the channel: `openai`, `gemini` or `anthropic`. */
      readonly dialect: DialectName | undefined;
      /** Ms from the reservation of quota to the choice of the channel. */
      readonly afterMs: number;
    } & OfAttempt)
  /**
   * The first part of the reply with content reached the gateway: text, reasoning, a tool call, an
   * image. Emitted once for each attempt at most.
   */
  | ({
      readonly type: 'first_byte';
      /** Ms since quota was reserved. */
      readonly afterMs: number;
    } & OfAttempt)
  /**
   * An attempt is over; for a stream, when the stream has ended. Follows each `attempt_started`.
   * After a failure another channel may still serve the caller.
   */
  | ({
      readonly type: 'attempt_ended';
      /** The HTTP status that the upstream sent, whatever came after it; undefined if none came. */
      readonly status: number | undefined;
      /** Undefined if the attempt gave the reply. */
      readonly reason: FailureReason | undefined;
      /** It may have run upstream, at least in part, and may be billed to the account. */
      readonly mayHaveRun: boolean;
      /** Since the choice of the channel. */
      readonly durationMs: number;
      /**
       * What your own `UpstreamClient` threw, if `reason` does not say it, and of what `credential`
       * threw the name, code and message. Not enumerable, so that JSON does not have it.
       */
      readonly error?: unknown;
    } & OfAttempt)
  /**
   * One of the requests that an attempt takes, for an embeddings call with many inputs, failed, and
   * is sent once more within the attempt.
   */
  | ({
      readonly type: 'part_failed';
      /** Ms since quota was reserved. */
      readonly afterMs: number;
      /** The HTTP status of this request; undefined if none came. */
      readonly status: number | undefined;
      /** Why it failed. */
      readonly reason: FailureReason;
    } & OfAttempt)
  /** A call that had reserved quota has ended; the same record was sent to the usage sink. */
  | {
      readonly type: 'call_ended';
      /** What was used, held and charged, and the outcome. */
      readonly record: UsageRecord;
      /**
       * The error that the caller got, as a response or at the end of a stream; undefined if it got
       * none, or had disconnected.
       */
      readonly code: ErrorCode | undefined;
      /** The member of the request that the error names, bounded as in `call_refused`. */
      readonly param?: string;
    }
  /**
   * The quota store has accepted a charge that it could not accept when the call ended. This record
   * replaces that of `call_ended`, which had `booked: false`.
   */
  | {
      readonly type: 'call_booked';
      /** The record of the call, with `booked: true` and a higher revision. */
      readonly record: UsageRecord;
    }
  /**
   * A provider was asked for a stored reply (`GET /v1/responses/{id}`). Nothing was charged. If it
   * could not be read, `call_refused` follows.
   */
  | ({
      readonly type: 'stored_reply_read';
      /** The wire format of the upstream: `openai`, `gemini` or `anthropic`. */
      readonly dialect: DialectName;
      /** The id of the stored reply. */
      readonly responseId: string;
      /** Unix ms at which the provider was asked. */
      readonly startedAtMs: number;
      /** Until the provider had sent it, in ms. */
      readonly durationMs: number;
      /** The error that the caller got; undefined if the reply was read. */
      readonly code: ErrorCode | undefined;
      /** More specific than the code. */
      readonly reason: FailureReason | undefined;
    } & OfReply &
      OfKey &
      OfModel &
      OfChannel)
  /**
   * No channel could serve the call: `gateway.channels()` says which accounts are unavailable. The
   * reply is a 503, unless `model_fallback` follows.
   */
  | ({
      readonly type: 'no_channel';
      /** What kept its channels from serving. */
      readonly reason: NoChannelReason;
      /**
       * The wait sent to the caller: until the first channel is available again, if known. Left out
       * for reasons that no wait changes: then the caller is told not to retry.
       */
      readonly retryAfterMs?: number;
    } & OfReply &
      OfModel)
  /** All accounts of a model were unavailable, and the call goes to one of its fallbacks. */
  | ({
      readonly type: 'model_fallback';
      /** The model that is asked instead, by its id in the catalog. */
      readonly fallbackId: string;
      /** Why the model could not serve the call. */
      readonly reason: FailureReason;
    } & OfReply &
      OfModel)
  /**
   * An account became unavailable, or available again. Accounts that its `credential` named have no
   * such event; see `gateway.channels()`.
   */
  | ({
      readonly type: 'channel_changed';
      /** Undefined if the change concerns the account with all its models. */
      readonly upstreamModel: string | undefined;
    } & HealthStatus &
      OfChannel)
  /**
   * One of your ports (a store, the guard) threw, timed out, or returned a value that its contract
   * does not allow, or was not called.
   */
  | ({ readonly type: 'port_failed' } & PortFailure)
  /**
   * The quota store did not accept the end of a hold for 15 minutes, or until the gateway closed. A
   * settlement after so long could charge twice.
   */
  | ({
      readonly type: 'settlement_lost';
      /** What you have to apply by hand. */
      readonly end: HoldEnd;
    } & OfReply)
  /**
   * The log `recordRefusals` (docs/stores.md#refusals) did not take some counts for 15 minutes, or
   * until the gateway closed. A write that was in flight may still have succeeded.
   */
  | {
      readonly type: 'refusals_lost';
      /** Unix ms: the beginning of the minute in which the requests were refused. */
      readonly atMs: number;
      /** How many refused requests the counts stand for. */
      readonly refusals: number;
    }
  /**
   * The quota store no longer had the hold of a running call: `expired` if its lease ran out,
   * `unknown` if the store lost it. The call continues without a hold, and is charged at its end.
   * If it happens often, look at the store's clock and memory.
   */
  | ({
      readonly type: 'hold_lapsed';
      /** How the store says that the hold ended. */
      readonly reason: 'settled' | 'released' | 'expired' | 'unknown';
    } & OfReply)
  | UsageEvent
  /**
   * Neither the caller nor the model limits the output: such calls hold 16,384 tokens at first. Set
   * the model's `maxOutputTokens`.
   */
  | ({ readonly type: 'no_stated_maximum' } & OfModel)
  /**
   * A channel sent vectors in another `encoding_format` than requested, and the gateway converted
   * them. Set `embeddingBase64: false` (or `embeddingFloat: false`) in its `capabilities`, so that
   * it is asked for what it sends. Emitted once for each channel.
   */
  | ({ readonly type: 'embedding_format' } & OfChannel)
  /**
   * A request whose path lacks its version, or has it twice, went to the host, because the gateway
   * has no prefix of its own and the host may have such a path. If it is one of your app's own, do
   * nothing. At most one a minute for each path.
   */
  | {
      readonly type: 'path_misplaced';
      /** By the gateway's table of paths, not as the caller wrote it: `/chat/completions`. */
      readonly path: string;
      /** `/v1/chat/completions`. */
      readonly servedAt: string;
      /** What the caller has to change in its base URL. */
      readonly remedy: string;
      /** This request and those since the last event of this path. */
      readonly requests: number;
    }
  /**
   * A body parser runs before the gateway and does not keep the raw body, or the body of a Web
   * `Request` was read or locked. `remedy` says what to change.
   */
  | ({
      readonly type: 'body_consumed';
      /** What to change in the host's app. */
      readonly remedy: string;
    } & OfReply)
  /**
   * The responses of this model are stored at several accounts, and `responses.index` is in memory:
   * in other processes, calls that refer to a response fail with 404. Use a shared index
   * (docs/responses.md#state). Emitted once for each model, at its first Responses call.
   */
  | ({ readonly type: 'references_per_process' } & OfModel)
  /**
   * A reply went out although it could not be recorded in `responses.index`, so that the caller
   * can't refer to it. The event `port_failed` has the reason.
   */
  | ({ readonly type: 'index_lost' } & OfReply)
  /**
   * Output items of a translated reply were not kept, so that the caller can't refer to them. If
   * the store `responses.items` failed, the event `port_failed` has the reason.
   */
  | ({
      readonly type: 'items_not_kept';
      /** Whether they were too large, or the store failed. */
      readonly reason: 'too_large' | 'failed';
      /** How many items were not kept. */
      readonly count: number;
    } & OfReply)
  /** The file of a `jsonFileCatalog` has changed; `models` is the number of models now served. */
  | ({
      readonly type: 'catalog_loaded';
      /** How many models and wildcards are now served. */
      readonly models: number;
    } & OfFile)
  /** The changed file is invalid, and the last good one is served; `reason` has the remedy. */
  | ({ readonly type: 'catalog_refused' } & RefusedFile)
  /** The changed configuration file of `tollgate serve`, which alone emits this, applies. */
  | ({ readonly type: 'config_loaded' } & OfFile)
  /** That file is invalid, and the last good one applies; `reason` has the remedy. */
  | ({ readonly type: 'config_refused' } & RefusedFile)
  /** A notification could not be delivered, and is given up: see docs/notifications.md. */
  | {
      readonly type: 'notification_failed';
      /** The endpoint's `name`, by default the host of its URL. */
      readonly endpoint: string;
      /** What it was about. */
      readonly notification: NotificationType;
      /** The notification's `webhook-id`. */
      readonly id: string;
      /** Why the last attempt failed. */
      readonly reason: NotificationFailure;
      /** The last HTTP status that the endpoint replied with; undefined if there was none. */
      readonly status: number | undefined;
      /** How often it was sent. */
      readonly attempts: number;
    }
  /**
   * A bug in the gateway or in a port: please report it, with `at`, its location in the code. Or
   * the record of a model was changed while a call ran, which was then charged its hold.
   */
  | {
      readonly type: 'internal_error';
      /** The `x-request-id` of the reply; undefined outside of a request. */
      readonly requestId: string | undefined;
      /** The function and place in the gateway's code. */
      readonly at: string;
    };

/** The name of an event. */
export type EventType = GatewayEvent['type'];

/** One kind of event, or several. */
export type EventOf<Type extends EventType> = Extract<
  GatewayEvent,
  {
    /** Selects the events with this name. */
    readonly type: Type;
  }
>;

/** How important an event is: docs/logging.md has the level of each. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Which events a listener wants. */
export interface EventFilter {
  /** Default: all. */
  readonly types?: readonly EventType[];
  /** The lowest level. Default: `debug`, which is all. */
  readonly level?: LogLevel;
  /** Finishes the listener's work at the end of `gateway.close()`, which waits 10 s for it. */
  readonly onClose?: () => Promise<void>;
}

/** Receives events. Exceptions are swallowed; returned promises are not awaited. */
export type EventListener = (event: GatewayEvent) => void;
