/**
 * Writes the request to an upstream: its address, its headers from an allow-list, the account's
 * secret, and what of all that no caller may ever read.
 */
import { isUpstreamError, UpstreamError } from '../errors.ts';
import type { HeaderMap } from '../http.ts';
import type { Settings } from '../options.ts';
import type { Channel } from '../ports/catalog.ts';
import type { UpstreamRequest } from '../ports/upstream-client.ts';
import { within } from '../ports/within.ts';
import { transportError } from '../upstream/transport-error.ts';
import type { Exchange } from './exchange.ts';
import type { RunningCall } from './running.ts';

const leastSecretChars = 6;

/** Everything of the request that goes out; headers from an allow-list. */
export function upstreamRequest(
  exchange: Exchange,
  channel: Channel,
  secret: string,
): Pick<UpstreamRequest, 'method' | 'origin' | 'path' | 'headers' | 'body'> {
  const { origin, base } = splitBaseUrl(channel.baseUrl);
  return {
    method: 'POST',
    origin,
    path: base + exchange.path,
    headers: {
      'content-type': 'application/json',
      accept: exchange.framing === 'sse' ? 'text/event-stream' : 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'tollgate',
      ...lowerCased(channel.headers),
      ...exchange.upstream.credential(secret),
    },
    body: exchange.body,
  };
}

/**
 * The account's secret. A function of the host may fail or hang like any store.
 *
 * @throws UpstreamError at the stage `connect`: nothing has been sent then
 */
export async function credentialOf(
  { credential }: Channel,
  timeoutMs: number,
  { running, settings }: { readonly running: RunningCall; readonly settings: Settings },
): Promise<string> {
  if (typeof credential === 'string') return credential;
  try {
    const secret: unknown = await new Promise((resolve, reject) => {
      running.onAbort(reject);
      within(credential(), timeoutMs, settings.clock).then(resolve, reject);
    });
    if (typeof secret === 'string') return secret;
  } catch (cause) {
    if (isUpstreamError(cause)) throw transportError(cause, 'connect');
    throw new UpstreamError('connect', 'credential_unavailable', { cause });
  }
  throw new UpstreamError('connect', 'credential_unavailable');
}

/**
 * What an upstream may echo and no caller may read. A header's value may be a tenant's token; one
 * that is shorter than any secret would only tear holes into words.
 */
export function secretsOf({ baseUrl, headers = {} }: Channel, secret: string): readonly string[] {
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(' ').slice(1)]);
  const told = values.filter(({ length }) => length >= leastSecretChars);
  // The longest first: one may be part of another.
  return [secret, baseUrl, ...told].sort((a, b) => b.length - a.length);
}

/** A host may write `X-Goog-Api-Key`: two spellings of one name would go out as two headers. */
function lowerCased(headers: Channel['headers'] = {}): HeaderMap {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** `https://host:port` and `/v1`, from a base URL that was checked when the catalog was made. */
function splitBaseUrl(baseUrl: string): { readonly origin: string; readonly base: string } {
  const slash = baseUrl.indexOf('/', baseUrl.indexOf('://') + 3);
  if (slash === -1) return { origin: baseUrl, base: '' };
  return { origin: baseUrl.slice(0, slash), base: baseUrl.slice(slash).replace(/\/+$/, '') };
}
