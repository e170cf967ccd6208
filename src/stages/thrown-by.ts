/** What a function of the host threw, of a failed attempt. */
import { isUpstreamError } from '../errors.ts';
import type { Credential } from './credential.ts';
import type { CallFailure } from './failure.ts';
import type { ChannelPlan } from './model-plan.ts';
import { safeError, shownError } from './shown-error.ts';

/** A failed attempt. */
interface FailedAttempt {
  readonly channelPlan: Pick<ChannelPlan, 'secrets'>;
  readonly credential: Credential | undefined;
}

/**
 * What a function of the host threw: `credential`, or a client whose error has no known code. The
 * other reasons say what happened.
 */
export function thrownBy({ error, reason }: CallFailure, attempt: FailedAttempt): unknown {
  const { cause } = isUpstreamError(error.cause) ? error.cause : {};
  if (cause === undefined) return undefined;
  const { channelPlan, credential } = attempt;
  if (reason === 'credential_unavailable') return shownError(cause, channelPlan.secrets());
  if (reason !== 'failed' && reason !== 'client_failed' && reason !== 'other') return undefined;
  const own = credential?.kind === 'secret' ? [credential.secret] : [];
  return safeError(cause, [...own, ...channelPlan.secrets()]);
}
