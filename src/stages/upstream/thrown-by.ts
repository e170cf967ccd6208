/** What a function of the host threw, of a failed attempt. */
import { isUpstreamError } from '../../errors.ts';
import type { Received } from '../call-record.ts';
import type { ChannelPlan } from '../models/model-plan.ts';
import type { Credential } from './credential.ts';
import type { CallFailure } from './failure.ts';
import { safeError, shownError } from './shown-error.ts';

interface FailedAttempt {
  readonly held: { readonly admitted: { readonly received: Pick<Received, 'secrets'> } };
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
  const { channelPlan, credential, held } = attempt;
  const own = credential?.kind === 'secret' ? [credential.secret] : [];
  const secrets = [...own, ...channelPlan.secrets(), ...held.admitted.received.secrets()];
  if (reason === 'credential_unavailable') return shownError(cause, secrets);
  const isUnknown = reason === 'failed' || reason === 'client_failed' || reason === 'other';
  return isUnknown ? safeError(cause, secrets) : undefined;
}
