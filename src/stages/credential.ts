/** Gets the secret of an upstream account from the host's function. */
import { isUpstreamError, UpstreamError } from '../errors.ts';
import type { Channel } from '../ports/catalog.ts';
import { within } from '../ports/within.ts';
import { transportError } from '../upstream/transport-error.ts';
import type { Begun } from './call-record.ts';

/**
 * Returns the account's secret. The host's function may fail or hang like any store.
 *
 * @throws UpstreamError at the stage `connect`, because nothing has been sent yet
 */
export async function askedCredential(
  credential: Exclude<Channel['credential'], string>,
  timeoutMs: number,
  { running, received: { settings } }: Begun,
): Promise<string> {
  try {
    const secret: unknown = await new Promise((resolve, reject) => {
      running.caller.onAbort(reject);
      within(credential(), timeoutMs, settings.clock).then(resolve, reject);
    });
    if (typeof secret === 'string') return secret;
  } catch (cause) {
    if (isUpstreamError(cause)) throw transportError(cause, 'connect');
    throw new UpstreamError('connect', 'credential_unavailable', { cause });
  }
  throw new UpstreamError('connect', 'credential_unavailable');
}
