/** Sends single requests, for the commands that query servers. */
import type { Clock } from '../clock.ts';
import { UpstreamError } from '../errors.ts';
import type { UpstreamBody, UpstreamClient, UpstreamRequest } from '../ports/upstream-client.ts';

const answerMs = 15_000;
const maxBytes = 8 * 1024 * 1024;

export interface TextReply {
  readonly status: number;
  readonly text: string;
}

/** @throws UpstreamError with the reason */
export async function textOfReply(
  request: Pick<UpstreamRequest, 'method' | 'origin' | 'path' | 'headers' | 'body'>,
  client: UpstreamClient,
  clock: Clock,
): Promise<TextReply> {
  let abort = (_reason: Error): void => {};
  const cancel = clock.every(answerMs, () => abort(new UpstreamError('sent', 'headers_timeout')));
  try {
    const response = await client.send({
      ...request,
      connectTimeoutMs: 5_000,
      freshConnection: false,
      onAbort: (abortCall) => {
        abort = abortCall;
      },
    });
    return { status: response.status, text: await textOf(response.body) };
  } finally {
    cancel();
  }
}

export function failureReason(error: unknown): string {
  const reason: unknown = Reflect.get(Object(error), 'reason');
  return typeof reason === 'string' ? reason : 'failed';
}

export function textOf(body: UpstreamBody): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    body.start({
      write: (chunk) => {
        size += chunk.length;
        if (size > maxBytes) {
          body.abort();
          reject(new UpstreamError('body', 'reply_too_large'));
        } else chunks.push(Uint8Array.from(chunk));
      },
      end: () => resolve(Buffer.concat(chunks).toString()),
      fail: reject,
    });
  });
}
