/** Keeps secrets out of the errors of a host's functions, which events carry and logs print. */
import { isUpstreamError } from '../errors.ts';
import { basicsOf, detailsOf } from '../thrown.ts';
import type { Credential } from './credential.ts';
import type { CallFailure } from './failure.ts';
import type { ChannelPlan } from './model-plan.ts';
import { containsSecret } from './upstream-text.ts';

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

/**
 * The name, code and message of an error, and nothing else of it: the error objects of clients for
 * credentials carry tokens in `config`, `response` and `cause`.
 */
function shownError(error: unknown, secrets: readonly string[]): Error {
  const { name, code, message } = basicsOf(error);
  const shown = new Error(containsSecret(message, secrets) ? hidden : message);
  shown.name = containsSecret(name, secrets) ? 'Error' : name;
  shown.stack = `${shown.name}: ${shown.message}`;
  return code === undefined ? shown : Object.assign(shown, { code });
}

const hidden = 'its message contains a secret, and is not shown';

/** The error itself, unless what logs print of it contains one of the secrets. */
export function safeError(error: unknown, secrets: readonly string[]): unknown {
  if (secrets.length === 0) return error;
  return containsSecret(JSON.stringify(detailsOf(error)), secrets)
    ? shownError(error, secrets)
    : error;
}

/** The parts of a header that may be secrets: a key, or the values of cookies. */
export function secretsIn(header: string | undefined): readonly string[] {
  return (header ?? '').split(/[;=,\s]+/).filter((part) => part.length >= minSecretChars);
}

/** Shorter texts are not secrets; to search for them would hide messages for nothing. */
const minSecretChars = 8;
