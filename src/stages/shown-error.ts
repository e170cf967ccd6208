/** Keeps secrets out of the errors of a host's functions, which events carry and logs print. */
import { basicsOf, detailsOf } from '../thrown.ts';
import { containsSecret } from './upstream-text.ts';

/**
 * The name, code and message of an error, and nothing else of it: the error objects of clients for
 * credentials carry tokens in `config`, `response` and `cause`.
 */
export function shownError(error: unknown, secrets: readonly string[]): Error {
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
