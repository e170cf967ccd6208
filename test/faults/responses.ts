/** The responses of scripts in the fault matrix: heads, leaking refusals, whole replies. */

import { errorFormOf, type Kind, replyOf, typeOf } from './kinds.ts';
import { reads, type Script, sends } from './raw-upstream.ts';

/** The head of an answer, up to its blank line. */
export function head(
  status: number | string,
  headers: Readonly<Record<string, string | number>> = {},
): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const line = typeof status === 'number' ? `${status} Said` : status;
  return `HTTP/1.1 ${line}\r\n${lines.join('')}\r\n`;
}

/** A head and a body of its length. */
export function answer(
  status: number | string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string | number>> = {},
): Buffer {
  const length = Buffer.byteLength(body);
  return Buffer.concat([
    Buffer.from(head(status, { ...headers, 'content-length': length })),
    Buffer.from(body),
  ]);
}

/** A whole reply of this kind. */
export function reply(kind: Kind): Buffer {
  return answer(200, replyOf(kind), { 'content-type': typeOf(kind) });
}

/** Differences from the plain refusal. */
export interface Refusal {
  readonly headers?: Readonly<Record<string, string | number>>;
  /** Members of the error, which replace or extend the dialect's. */
  readonly error?: Readonly<Record<string, unknown>>;
}

/**
 * Refuses with this status, in the format of the kind's dialect, with secrets in the reason phrase,
 * in headers and in the message.
 */
export function refuses(
  status: number,
  { headers = {}, error = {} }: Refusal = {},
): (kind: Kind, leak: string) => Script {
  return (kind, leak) => {
    const document = {
      openai: { error: { message: leak, type: 'said', param: null, code: null, ...error } },
      google: { error: { code: status, message: leak, status: 'SAID', ...error } },
      anthropic: { type: 'error', error: { type: 'said', message: leak, ...error } },
    }[errorFormOf(kind)];
    const heads = { 'content-type': 'application/json', ...leaking(leak), ...headers };
    return [reads, sends(answer(`${status} ${leak}`, JSON.stringify(document), heads))];
  };
}

/** Headers in which an upstream could reveal secrets. */
export function leaking(leak: string): Readonly<Record<string, string>> {
  return { server: leak, 'x-request-id': leak, 'www-authenticate': `Bearer ${leak}` };
}
