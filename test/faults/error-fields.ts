/** The fields of each error code in every dialect: the matrix's own copy of docs/errors.md. */

import type { ErrorCode } from '../../src/errors.ts';
import { errorFormOf, isMessages, isNative, type Kind } from './kinds.ts';

interface ErrorFields {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  readonly google: string;
  readonly anthropic: string;
}

const server = { type: 'server_error' } as const;
const invalid = {
  type: 'invalid_request_error',
  google: 'INVALID_ARGUMENT',
  anthropic: 'invalid_request_error',
} as const;

/** The codes that can result from a fault of an upstream. */
const errorFields: Partial<Readonly<Record<ErrorCode, ErrorFields>>> = {
  invalid_request: { status: 400, ...invalid, code: null },
  model_not_found: {
    status: 404,
    ...invalid,
    code: 'model_not_found',
    google: 'NOT_FOUND',
    anthropic: 'not_found_error',
  },
  body_too_large: {
    status: 413,
    ...invalid,
    code: 'body_too_large',
    anthropic: 'request_too_large',
  },
  upstream_rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    google: 'RESOURCE_EXHAUSTED',
    anthropic: 'rate_limit_error',
  },
  upstream_failed: {
    status: 502,
    ...server,
    code: 'upstream_failed',
    google: 'UNAVAILABLE',
    anthropic: 'api_error',
  },
  no_channel: {
    status: 503,
    ...server,
    code: 'no_channel',
    google: 'UNAVAILABLE',
    anthropic: 'overloaded_error',
  },
  upstream_timeout: {
    status: 504,
    ...server,
    code: 'upstream_timeout',
    google: 'DEADLINE_EXCEEDED',
    anthropic: 'timeout_error',
  },
};

/**
 * How a caller of this kind sees a code: `502 server_error upstream_failed`. `status` replaces the
 * code's own.
 */
export function errorFieldsOf(code: ErrorCode, kind: Kind, status?: number): string {
  const row = errorFields[code];
  if (row === undefined) throw new Error(`No fault results in ${code}.`);
  const fields = {
    openai: `${row.type} ${String(row.code)}`,
    google: row.google,
    anthropic: row.anthropic,
  };
  return `${status ?? row.status} ${fields[errorFormOf(kind)]}`;
}

/**
 * The same at the end of a stream. Those of the Responses API have the codes of that API, and those
 * of the Messages API have no status.
 */
export function streamErrorFieldsOf(code: ErrorCode, kind: Kind): string {
  if (isMessages(kind)) return errorFields[code]?.anthropic ?? code;
  if (kind !== 'responses_stream') return errorFieldsOf(code, kind);
  const type = errorFields[code]?.type ?? code;
  return `${type} ${type === 'server_error' ? type : String(errorFields[code]?.code ?? type)}`;
}

/** The fields of an error document like {@link errorFieldsOf}, or what is wrong with it. */
export function errorFieldsIn(text: string, kind: Kind): string {
  const error = errorIn(text);
  if (error === undefined) return `no error: ${text.slice(0, 200)}`;
  const { message, type, param, code, status, details, ...more } = error;
  const hasMessage = typeof message === 'string' && message.length > 0;
  const hasFieldsOfKind = isNative(kind)
    ? type === undefined && param === undefined && (details === undefined || Array.isArray(details))
    : param !== undefined && status === undefined && details === undefined;
  if (!hasMessage || !hasFieldsOfKind || Object.keys(more).length > 0) return `malformed: ${text}`;
  return isNative(kind) ? `${String(code)} ${String(status)}` : `${String(type)} ${String(code)}`;
}

function errorIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const document: unknown = JSON.parse(text);
    const names = Object.keys(Object(document));
    const error: unknown = Reflect.get(Object(document), 'error');
    const isError = typeof error === 'object' && error !== null && names.length === 1;
    return isError ? Object.fromEntries(Object.entries(error)) : undefined;
  } catch {
    return undefined;
  }
}
