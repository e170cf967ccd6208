/** A caller that accepts any answer: a whole one, or one whose connection breaks off. */

import { type IncomingHttpHeaders, request } from 'node:http';
import type { CallerRequest } from '../kinds.ts';

/** Everything a caller can see of an answer. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The connection was cut: the reply did not end. */
  readonly isCut: boolean;
}

/** Makes a call on a new connection; `onBegun` is called for each chunk of the body. */
export function call(
  origin: string,
  { path, body }: CallerRequest,
  headers: Readonly<Record<string, string>>,
  onBegun: () => void,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = String(Buffer.byteLength(body));
    const outgoing = request(`${origin}${path}`, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', 'content-length': length, ...headers },
    });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      const { statusCode: status = 0 } = response;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        onBegun();
      });
      response.on('error', () => {
        // The connection was cut; `close` follows and resolves.
      });
      response.on('close', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status, headers: response.headers, text, isCut: !response.complete });
      });
    });
    outgoing.end(body);
  });
}
