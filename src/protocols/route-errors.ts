/** The errors for paths and methods that the gateway does not serve. */
import { GatewayError } from '../errors.ts';
import type { GatewayRequest } from '../http.ts';
import type { MisplacedPath } from './resources.ts';

/** A path that no provider has, on a server where no other handler answers. */
export function unknownRoute({ method }: Pick<GatewayRequest, 'method'>): GatewayError {
  const known = method === 'GET' || method === 'POST' ? `${method} ` : '';
  return new GatewayError('route_not_found', `There is no such ${known}route here.`);
}

/** A wrong base URL, the most common mistake of clients. `prefix` is that of the mount. */
export function misplacedRoute(misplaced: MisplacedPath, prefix: string): GatewayError {
  const { requested, intended, fault } = misplaced;
  const problem =
    fault === 'missing'
      ? `There is no ${requested} here.`
      : `The URL has ${fault === 'twice' ? 'a version' : 'the path of a call'} twice.`;
  return new GatewayError(
    'route_not_found',
    `${problem} Did you mean ${prefix}${intended}? ${baseUrlRemedy(misplaced, prefix)}`,
  );
}

/** What the client has to change. */
export function baseUrlRemedy({ intended, fault, added }: MisplacedPath, prefix: string): string {
  const [version = ''] = /^\/v1(?:beta)?/.exec(intended) ?? [];
  return fault === 'twice'
    ? `Remove one ${added} from the end of the client's base URL.`
    : `Set the client's base URL to end in ${prefix}${version}.`;
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
