/** What a call tells about the health of its channel when it ends. */
import type { FailureReason } from '../failure-reasons.ts';
import type { CooldownInput } from './health-state.ts';

export type HealthSignal =
  | { readonly kind: 'served' }
  /** A mistake of the caller or the gateway: it tells nothing about the upstream. */
  | { readonly kind: 'neutral' }
  /** The account could not be reached, or the model failed or timed out. */
  | {
      readonly kind: 'failed';
      readonly reason: FailureReason;
      readonly where: HealthScope;
      /** It timed out, or the upstream itself reported a timeout. */
      readonly timedOut?: boolean;
    }
  /** The caller disconnected after a long wait for the first byte. */
  | {
      readonly kind: 'disconnected_waiting';
      readonly reason: FailureReason;
      readonly keyId: string;
    }
  | ({ readonly kind: 'cooldown'; readonly where: HealthScope } & CooldownInput)
  /** The credential was rejected: the account is out until it has another one. */
  | { readonly kind: 'refused'; readonly reason: FailureReason }
  /**
   * A 403 that does not say what it applies to: this request, the model, or the account. The
   * account is blamed only if a second model is refused before any call was served.
   */
  | { readonly kind: 'forbidden'; readonly reason: FailureReason };

/** The signal of a call that tells nothing about its channel, or of one that did not use it. */
export const noSignal: HealthSignal = { kind: 'neutral' };

/** The account with all its models, or only the model that was called. */
export type HealthScope = 'account' | 'model';
