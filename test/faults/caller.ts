/** A caller that takes whatever comes: a whole answer, or one whose connection breaks off. */
import { type IncomingHttpHeaders, request } from 'node:http';
import type { Asked } from './asks.ts';

/** Everything a caller can see of an answer. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The connection was cut: the reply did not end. */
  readonly isCut: boolean;
}

/** Calls on a connection of its own; `onBegun` hears of each piece of the answer's body. */
export function call(
  origin: string,
  { path, body }: Asked,
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
        // A cut; the close that follows tells.
      });
      response.on('close', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status, headers: response.headers, text, isCut: !response.complete });
      });
    });
    outgoing.end(body);
  });
}
