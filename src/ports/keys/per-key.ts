/** Marks the credential functions that answer for each key. */
import { ConfigurationError } from '../../errors.ts';
import type { MaybePromise } from '../call-options.ts';
import type { CredentialAnswer, CredentialRequest } from '../models/catalog.ts';

/** By name, because a process may have loaded both builds of the package. */
const mark: unique symbol = Symbol.for('tollgate.perKey');

/**
 * Marks a channel's `credential` function that returns another secret for each key: it is called
 * for each call, and what it throws counts against the call's key alone. A function that names an
 * account, or returns undefined for a key, is treated so from then on without the mark.
 *
 * @returns a function to use as `credential`
 * @throws ConfigurationError if it is not given a function
 */
export function perKey(
  credential: (request: CredentialRequest) => MaybePromise<CredentialAnswer>,
): (request: CredentialRequest) => MaybePromise<CredentialAnswer> {
  if (typeof credential !== 'function') {
    throw new ConfigurationError(
      "perKey: credential must be a function that returns the secret for the call's key.",
    );
  }
  return Object.assign((request: CredentialRequest) => credential(request), { [mark]: true });
}

/** Whether a `credential` function is in {@link perKey}. */
export function isMarkedPerKey(credential: object): boolean {
  return Reflect.get(credential, mark) === true;
}
