/** The errors for paths and methods that the gateway does not serve. */
import { GatewayError } from '../errors.ts';
import type { GatewayRequest } from '../http.ts';

/** A path that no provider has, on a server where no other handler answers. */
export function unknownRoute({ method }: Pick<GatewayRequest, 'method'>): GatewayError {
  const known = method === 'GET' || method === 'POST' ? `${method} ` : '';
  return new GatewayError('route_not_found', `There is no such ${known}route here.`);
}

/**
 * A path that would be served with one version more or less before it, the most common mistake in
 * the base URL of a client. `intended` is a path of the table, not as the caller wrote it.
 */
export function misplacedRoute(intended: string, isTwice: boolean): GatewayError {
  const [, , rest = ''] = versioned.exec(intended) ?? [];
  const problem = isTwice ? 'The path has its version twice.' : `There is no ${rest} here.`;
  const remedy = remedyOf(intended, isTwice);
  return new GatewayError('route_not_found', `${problem} Did you mean ${intended}? ${remedy}`);
}

/** What the caller of such a path has to change. */
export function remedyOf(intended: string, isTwice: boolean): string {
  const [, version = ''] = versioned.exec(intended) ?? [];
  return isTwice
    ? `The client adds ${version} itself, or its base URL has it twice: remove one.`
    : `Set the client's base URL to end in ${version}.`;
}

const versioned = /^(\/v1(?:beta)?)(.*)$/;

/**
 * A provider's path that is not served. `path` names it by a path of the table, not as the caller
 * wrote it: `The path /v1/files`; `instead` is what its clients can do.
 */
export function unservedRoute(path: string, served: string, instead: string): GatewayError {
  return new GatewayError(
    'route_not_found',
    `${path} is not served here.${instead} This gateway serves ${served}.`,
  );
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
