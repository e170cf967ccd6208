/** Sends requests through the upstream client and reads the responses to their end. */
import { isUpstreamError } from '../../src/errors.ts';
import type {
  UpstreamClient,
  UpstreamRequest,
  UpstreamResponse,
} from '../../src/ports/upstream-client.ts';

/** The outcome of a request: a response, or a failure and its stage. */
export type Outcome =
  | {
      readonly status: number;
      readonly headers: UpstreamResponse['headers'];
      readonly body: string;
    }
  | { readonly stage: string; readonly reason: string; readonly timedOut: boolean };

/** A POST request with the gateway's defaults and a generous connect timeout. */
export function post(origin: string, change: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return {
    method: 'POST',
    origin,
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: [Buffer.from('{"model":"m"}')],
    connectTimeoutMs: 5_000,
    freshConnection: false,
    onAbort: () => {},
    ...change,
  };
}

/** Sends a request and reads the response to its end. */
export async function exchange(client: UpstreamClient, request: UpstreamRequest): Promise<Outcome> {
  try {
    const { status, headers, body } = await client.send(request);
    return { status, headers, body: (await read(body)).toString() };
  } catch (error) {
    return failure(error);
  }
}

/** The whole body. */
export function read(body: UpstreamResponse['body']): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    body.start({
      write: (chunk) => chunks.push(chunk),
      end: () => resolve(Buffer.concat(chunks)),
      fail: reject,
    });
  });
}

/** The stage and reason of a client error. */
export function failure(error: unknown): Outcome {
  if (!isUpstreamError(error)) throw error;
  const { stage, reason, timedOut } = error;
  return { stage, reason, timedOut };
}
