/**
 * What the gateway knows of a call: one record, which grows from stage to stage and is handed on
 * whole. A stage that takes an earlier form of it can't use what is not known yet.
 */
import type { Call } from '../call.ts';
import type { GatewayRequest } from '../http.ts';
import type { Settings } from '../options.ts';
import type { Model } from '../ports/catalog.ts';
import type { ApiKey } from '../ports/key-store.ts';
import type { CallRoute } from '../protocols/protocol.ts';
import type { Hold } from './hold.ts';
import type { ReplyCopy } from './idempotency-copy.ts';
import type { ModelPlan } from './model-plan.ts';
import type { PortGuard } from './port-guard.ts';
import type { AnswerContext } from './respond.ts';
import type { RunningCall } from './running.ts';
import type { Settlement } from './settlement.ts';

/** A request that has come. */
export interface Received {
  readonly request: GatewayRequest;
  readonly answer: AnswerContext;
  /** The options as they stood when it came. */
  readonly settings: Settings;
  /** Asks the host's ports on its behalf. */
  readonly guard: PortGuard;
}

/** One whose key may call. */
export interface Authenticated {
  readonly received: Received;
  readonly key: ApiKey;
}

/** A call that has begun: it counts against the limits of calls at once. */
export interface Begun extends Authenticated {
  readonly route: CallRoute;
  readonly running: RunningCall;
}

/** One whose body was read. */
export interface Read extends Begun {
  readonly call: Call;
  readonly startedAtMs: number;
}

/** One whose model its key may use, and whose cost is bounded. */
export interface Admitted extends Read {
  readonly model: Model;
  readonly plan: ModelPlan;
  readonly hold: Hold;
}

/** One whose cost is held. The settlement ends the hold, on every path. */
export interface Held {
  readonly admitted: Admitted;
  readonly settlement: Settlement;
  /** The call runs to its end, whether or not its caller is there. */
  readonly continuesAfterDisconnect: boolean;
  /** Takes a copy of the reply, for those who ask for it again. */
  readonly copy: ReplyCopy | undefined;
}
