/**
 * The record of a call, which grows from stage to stage and is passed on whole. A stage that takes
 * an earlier form of it can't use what is not known yet.
 */
import type { Call } from '../call.ts';
import type { RequestEmit } from '../events/emitter.ts';
import type { GatewayRequest, HeaderMap } from '../http.ts';
import type { Settings } from '../options.ts';
import type { ApiKey } from '../ports/keys/key-store.ts';
import type { Model } from '../ports/models/catalog.ts';
import type { UsageRecord } from '../ports/usage-sink.ts';
import type { CallRoute } from '../protocols/protocol.ts';
import type { ModelPlan } from './models/model-plan.ts';
import type { PortCalls } from './ports/port-calls.ts';
import type { TakenRates } from './rates/applied-limits.ts';
import type { ResolvedReferences } from './references/reference-edits.ts';
import type { CallerConnection } from './relay/caller-connection.ts';
import type { ResponseContext } from './respond.ts';
import type { RunningCall } from './running.ts';
import type { Hold } from './settle/hold.ts';
import type { Settlement } from './settle/settlement.ts';

export interface Received {
  readonly request: GatewayRequest;
  readonly responseContext: ResponseContext;
  /** The gateway's options at the time of the request. */
  readonly settings: Settings;
  /** The keys and cookies that were sent, which no event may have. Read after a failure only. */
  readonly secrets: () => readonly string[];
  readonly ports: PortCalls;
  readonly emit: RequestEmit;
  readonly connection: CallerConnection;
  readonly progress: RequestProgress;
}

/** What is known about a request so far, for the event of its refusal. */
export interface RequestProgress {
  /** The record that was found, even if the key is disabled or has expired. */
  key: ApiKey | undefined;
  /** The model as the caller named it. */
  requestedModel: string | undefined;
  modelId: string | undefined;
  /** It has reserved quota, so that `call_ended` will report its end. */
  hasStarted: boolean;
}

export interface Authenticated {
  readonly received: Received;
  readonly key: ApiKey;
}

/** A call that has begun, and counts against the limits of concurrent calls. */
export interface Begun extends Authenticated {
  readonly route: CallRoute;
  readonly running: RunningCall;
}

export interface Read extends Begun {
  readonly call: Call;
  readonly startedAtMs: number;
}

/** A call whose key may use the model, and whose cost is bounded. */
export interface Admitted extends Read {
  readonly model: Model;
  readonly plan: ModelPlan;
  /** What the call refers to; undefined if it can't refer to anything. */
  readonly references?: ResolvedReferences | undefined;
  readonly hold: Hold;
  readonly metadata: UsageRecord['metadata'];
  /**
   * No other model is left to ask, so that a cooling channel may be used. Only set for calls that
   * fell back.
   */
  readonly isLastModel?: boolean;
}

/** A call whose cost is held. The settlement ends the hold on every path. */
export interface Held {
  readonly admitted: Admitted;
  readonly settlement: Settlement;
  /** What it took from rate limits; undefined if none depends on its tokens or on a model. */
  readonly rates: TakenRates | undefined;
  readonly continuesAfterDisconnect: boolean;
  /** For callers that repeat the call; undefined for a call that nobody can repeat. */
  readonly copy: ReplyCopy | undefined;
}

/** Copies a reply while it is sent to its caller. */
export interface ReplyCopy {
  /** Sets the headers that belong to the reply. */
  begin(headers: HeaderMap): void;
  /** Adds the next chunk, as it is sent to the caller. */
  add(bytes: Uint8Array): void;
}
