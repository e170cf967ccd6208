/** Asks for the secret of an upstream account. */
import { isUpstreamError, UpstreamError } from '../errors.ts';
import type { Channel } from '../ports/catalog.ts';
import { within } from '../ports/within.ts';
import { transportError } from '../upstream/transport-error.ts';
import type { Begun } from './call-record.ts';

/**
 * The account's secret. A function of the host may fail or hang like any store.
 *
 * @throws UpstreamError at the stage `connect`: nothing has been sent then
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
