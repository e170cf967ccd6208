/** Keeps the secrets of a call out of events, and so out of logs: those in errors and in names. */

import { basicsOf, textsOf } from '../../events/thrown.ts';
import type { GatewayRequest } from '../../http.ts';
import { azureKeyHeader } from '../../protocols/callers/openai.ts';
import { decidingHeaders } from '../../protocols/routes.ts';
import { containsSecret } from './upstream-text.ts';

/**
 * The name, code and message of an error, and nothing else of it: the error objects of clients for
 * credentials carry tokens in `config`, `response` and `cause`.
 */
export function shownError(error: unknown, secrets: readonly string[]): Error {
  const { name, code = '', message } = basicsOf(error);
  const isSecret = (text: string): boolean => containsSecret(text, secrets);
  const shown = new Error(isSecret(message) ? hidden : message);
  shown.name = isSecret(name) ? 'Error' : name;
  shown.stack = `${shown.name}: ${shown.message}`;
  return code === '' || isSecret(code) ? shown : Object.assign(shown, { code });
}

const hidden = 'its message contains a secret, and is not shown';

/** The error itself, unless what may be printed of it contains one of the secrets. */
export function safeError(error: unknown, secrets: readonly string[]): unknown {
  if (secrets.length === 0) return error;
  return containsSecret(textsOf(error), secrets) ? shownError(error, secrets) : error;
}

export type SecretBearer = Pick<GatewayRequest, 'headers'> & { readonly search?: string };

/** Its keys, in whatever header and place of the URL the APIs have them, and its cookies. */
export function secretsOf({ headers, search = '' }: SecretBearer, vary: string): readonly string[] {
  const partsOf = (name: string): readonly string[] => String(headers[name] ?? '').split(/[,;\s]+/);
  const names = vary.split(', ').filter((name) => !decidingHeaders.includes(name));
  const cookies = partsOf('cookie').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const inUrl = new URLSearchParams(search).get('key') ?? '';
  return [...[...names, azureKeyHeader].flatMap(partsOf), ...cookies, inUrl].filter(
    ({ length }) => length >= minSecretChars,
  );
}

/** Shorter texts are not secrets; to search for them would hide messages for nothing. */
const minSecretChars = 8;
