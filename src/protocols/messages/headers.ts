/**
 * The headers of a Messages request that state the version and the beta features of the API for
 * which its body is written. A relay forwards them with the body, and no other header.
 */
import { GatewayError } from '../../errors.ts';
import type { IncomingHeaders } from '../../http.ts';
import type { Channel } from '../../ports/catalog.ts';
import { anthropicVersionHeader } from '../callers/anthropic.ts';
import type { ForwardedParts, ModelLimits, RequestParts } from '../protocol.ts';

const betaHeader = 'anthropic-beta';
/** The version that applies if a client sends none. */
const defaultVersion = '2023-06-01';
const versionForm = /^\d{4}-\d{2}-\d{2}$/;
const betaForm = /^[A-Za-z0-9._-]{1,64}$/;
const maxBetas = 32;
const maxBetaBytes = 2_048;

/** @throws GatewayError `invalid_request` for headers that can't be sent on */
export function checkMessagesHeaders(headers: IncomingHeaders): void {
  versionIn(headers);
  betasIn(headers);
}

/** A flag that raises a limit: `context-1m-2025-08-07`, `output-128k-2025-02-19`. */
const limitForm = /^(context|output)-(\d+)([km])(?![a-z0-9])/i;

/**
 * What is sent upstream with the body. Beta flags in the channel's own headers replace those of the
 * caller. Flags that the account refuses are left out, and so are those that raise a limit above
 * the one in the model's record: hold and charge end there, and the account would pay for the rest.
 */
export function forwardedParts(
  { headers, search }: RequestParts,
  channel: Channel,
  limits: ModelLimits,
): ForwardedParts {
  const wanted = betasIn(headers);
  const own = ownBetas(channel);
  const refused = channel.capabilities?.dropBetas ?? [];
  const sent = own ?? wanted.filter((flag) => !refused.includes(flag) && !exceeds(flag, limits));
  const version = { [anthropicVersionHeader]: versionIn(headers) };
  const hasOwn = own !== undefined || sent.length === 0;
  return {
    headers: hasOwn ? version : { ...version, [betaHeader]: sent.join(',') },
    search: new URLSearchParams(search).get('beta') === 'true' ? '?beta=true' : '',
    dropped: wanted.filter((flag) => !sent.includes(flag)).map((flag) => `${betaHeader}:${flag}`),
  };
}

/** Whether a flag grants more tokens than the record states; a limit that is not stated is none. */
function exceeds(flag: string, { contextTokens, maxOutputTokens }: ModelLimits): boolean {
  const [, kind, count, unit] = limitForm.exec(flag) ?? [];
  if (kind === undefined) return false;
  const stated = kind.toLowerCase() === 'context' ? contextTokens : maxOutputTokens;
  const granted = Number(count) * (unit?.toLowerCase() === 'm' ? 1_000_000 : 1_000);
  return stated !== undefined && granted > stated;
}

/** The flags in the channel's own headers; undefined if it has no such header. */
function ownBetas({ headers = {} }: Channel): readonly string[] | undefined {
  const own = Object.entries(headers).find(([name]) => name.toLowerCase() === betaHeader);
  return own === undefined ? undefined : flagsIn(own[1]);
}

function versionIn(headers: IncomingHeaders): string {
  const version = headers[anthropicVersionHeader] ?? defaultVersion;
  if (typeof version === 'string' && versionForm.test(version)) return version;
  throw new GatewayError(
    'invalid_request',
    `The header ${anthropicVersionHeader} must be sent once, as a date: ${defaultVersion}.`,
    { param: anthropicVersionHeader },
  );
}

function betasIn(headers: IncomingHeaders): readonly string[] {
  const sent = headers[betaHeader];
  if (sent === undefined) return [];
  const value = typeof sent === 'string' ? sent : sent.join(',');
  const flags = flagsIn(value);
  const isLegal = value.length <= maxBetaBytes && flags.length <= maxBetas;
  if (isLegal && flags.every((flag) => betaForm.test(flag))) return flags;
  throw new GatewayError(
    'invalid_request',
    `The header ${betaHeader} must be a list of at most ${maxBetas} flags and ${maxBetaBytes} ` +
      'bytes, separated by commas, each of 1 to 64 letters, digits, dots, dashes and underscores.',
    { param: betaHeader },
  );
}

function flagsIn(list: string): readonly string[] {
  return list
    .split(',')
    .map((flag) => flag.trim())
    .filter((flag) => flag !== '');
}
