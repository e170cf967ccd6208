/** The fields of each error code in both dialects: the matrix's own copy of docs/errors.md. */
import type { ErrorCode } from '../../src/errors.ts';
import { isNative } from './requests.ts';
import type { Kind } from './row.ts';

interface ErrorFields {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  readonly google: string;
}

const server = { type: 'server_error' } as const;
const invalid = { type: 'invalid_request_error', google: 'INVALID_ARGUMENT' } as const;

/** The codes that can result from a fault of an upstream. */
const errorFields: Partial<Readonly<Record<ErrorCode, ErrorFields>>> = {
  invalid_request: { status: 400, ...invalid, code: null },
  body_too_large: { status: 413, ...invalid, code: 'body_too_large' },
  upstream_rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    google: 'RESOURCE_EXHAUSTED',
  },
  upstream_failed: { status: 502, ...server, code: 'upstream_failed', google: 'UNAVAILABLE' },
  no_channel: { status: 503, ...server, code: 'no_channel', google: 'UNAVAILABLE' },
  upstream_timeout: {
    status: 504,
    ...server,
    code: 'upstream_timeout',
    google: 'DEADLINE_EXCEEDED',
  },
};

/** How a caller of this kind sees a code: `502 server_error upstream_failed`. */
export function errorFieldsOf(code: ErrorCode, kind: Kind): string {
  const row = errorFields[code];
  if (row === undefined) throw new Error(`No fault results in ${code}.`);
  return isNative(kind)
    ? `${row.status} ${row.google}`
    : `${row.status} ${row.type} ${String(row.code)}`;
}

/** The same at the end of a stream. Those of the Responses API have the codes of that API. */
export function streamErrorFieldsOf(code: ErrorCode, kind: Kind): string {
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
