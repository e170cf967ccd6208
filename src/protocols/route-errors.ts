/** The errors for paths and methods that the gateway does not serve. */
import { GatewayError } from '../errors.ts';
import type { GatewayRequest } from '../http.ts';

/** A path that no provider has, on a server where no other handler answers. */
export function unknownRoute({ method }: Pick<GatewayRequest, 'method'>): GatewayError {
  const known = method === 'GET' || method === 'POST' ? `${method} ` : '';
  return new GatewayError('route_not_found', `There is no such ${known}route here.`);
}

/** How a path of a client with a wrong base URL differs from the right one. */
export interface Misplacement {
  /** A path of the table, not as the caller wrote it. */
  readonly intended: string;
  /** The version is missing, or another one, `added`, is before it; or the whole path is twice. */
  readonly fault: 'missing' | 'twice' | 'whole';
  readonly added?: string;
}

/** A wrong base URL, the most common mistake of clients. `prefix` is that of the mount. */
export function misplacedRoute(misplacement: Misplacement, prefix: string): GatewayError {
  const { intended, fault } = misplacement;
  const problem =
    fault === 'missing'
      ? `There is no ${intended.replace(versionOf(intended), '')} here.`
      : `The URL has ${fault === 'twice' ? 'a version' : 'the path of a call'} twice.`;
  return new GatewayError(
    'route_not_found',
    `${problem} Did you mean ${prefix}${intended}? ${baseUrlRemedy(misplacement, prefix)}`,
  );
}

/** What the client has to change. */
function baseUrlRemedy({ intended, fault, added }: Misplacement, prefix: string): string {
  return fault === 'twice'
    ? `Remove one ${added} from the end of the client's base URL.`
    : `Set the client's base URL to end in ${prefix}${versionOf(intended)}.`;
}

function versionOf(path: string): string {
  return /^\/v1(?:beta)?/.exec(path)?.[0] ?? '';
}

/**
 * A provider's path that is not served. `path` names it by a path of the table, not as the caller
 * wrote it: `The path /v1/files`; `instead` is what its clients can do, empty if that is not known.
 */
export function unservedRoute(path: string, served: string, instead: string): GatewayError {
  const hint = instead === '' ? `This gateway serves ${served}.` : instead;
  return new GatewayError('route_not_found', `${path} is not served here. ${hint}`);
}

/** A path below `/v1/models` or `/v1beta/models` that can't be decoded. */
export function unreadablePath(): GatewayError {
  return new GatewayError(
    'route_not_found',
    'The model name in the path is not readable. Percent-encode it once, without . or .. segments.',
  );
}

/** A POST to a model without a method. */
export function noSuffix(): GatewayError {
  return new GatewayError(
    'route_not_found',
    'The path has no method. POST to /v1beta/models/{model}:generateContent.',
  );
}

/** A method of a model that the gateway does not serve. */
export function unknownMethod(method: string, methods: string): GatewayError {
  return new GatewayError(
    'route_not_found',
    `There is no method ${method.slice(0, 64)} here. Use ${methods}.`,
  );
}

/** A wrong HTTP method on a path that is served. */
export function wrongMethod(method: string, allow: string): GatewayError {
  const sent = /^[A-Z]{1,16}$/.test(method) ? method : 'This method';
  return new GatewayError('method_not_allowed', `${sent} is not allowed here. Use ${allow}.`, {
    allow,
  });
}
