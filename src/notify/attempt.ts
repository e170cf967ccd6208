/** Posts a notification once, and says what the outcome means. */
import type { Clock } from '../clock.ts';
import { retryAfterMs } from '../dialects/retry-after.ts';
import { isUpstreamError, UpstreamError } from '../errors.ts';
import type { NotificationFailure } from '../events/notification-types.ts';
import { swallowErrors } from '../events/thrown.ts';
import type { UpstreamBody, UpstreamClient, UpstreamResponse } from '../ports/upstream-client.ts';
import type { Message } from './messages.ts';
import { signedHeaders } from './signature.ts';

/** Where a notification is posted to, and how. */
export interface Endpoint {
  readonly url: URL;
  readonly keys: readonly Uint8Array[];
  readonly client: UpstreamClient;
  readonly clock: Clock;
}

/** What became of an attempt. */
export type AttemptResult =
  | { readonly kind: 'delivered'; readonly status: number }
  | { readonly kind: 'final'; readonly reason: 'refused' | 'gone'; readonly status: number }
  | {
      readonly kind: 'retry';
      readonly reason: Extract<NotificationFailure, 'unavailable' | 'timeout' | 'connection'>;
      readonly status?: number;
      /** The wait that the endpoint requested, in ms. */
      readonly retryAfterMs?: number | undefined;
    };

const totalMs = 10_000;
/** More of a reply is not even received. */
const maxReplyBytes = 64 * 1024;

/** Never rejects. Redirects are not followed, and the reply's body is discarded. */
export async function attempt(endpoint: Endpoint, message: Message): Promise<AttemptResult> {
  const { clock } = endpoint;
  let abort = (_reason: Error): void => {};
  let hasTimedOut = false;
  const stopTimer = clock.every(totalMs, () => {
    stopTimer();
    hasTimedOut = true;
    abort(new UpstreamError('sent', 'headers_timeout', { timedOut: true }));
  });
  try {
    const response = await send(endpoint, message, (abortCall) => {
      abort = abortCall;
    });
    // The status decides; the rest of the reply may still take its time.
    discard(response.body, stopTimer);
    return resultOf(response, clock.now());
  } catch (error) {
    stopTimer();
    const isTimeout = hasTimedOut || (isUpstreamError(error) && error.timedOut);
    return { kind: 'retry', reason: isTimeout ? 'timeout' : 'connection' };
  }
}

function send(
  { url, keys, client, clock }: Endpoint,
  message: Message,
  onAbort: (abort: (reason: Error) => void) => void,
): Promise<UpstreamResponse> {
  return client.send({
    method: 'POST',
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'tollgate',
      ...signedHeaders(message, clock.now(), keys),
    },
    body: [message.body],
    connectTimeoutMs: totalMs,
    // Notifications are rare, and a kept connection would mostly be closed by the next one.
    freshConnection: true,
    onAbort,
  });
}

function discard(body: UpstreamBody, done: () => void): void {
  let bytes = 0;
  swallowErrors(() =>
    body.start({
      write: ({ length }) => {
        bytes += length;
        if (bytes <= maxReplyBytes) return;
        done();
        body.abort();
      },
      end: done,
      fail: done,
    }),
  );
}

function resultOf({ status, headers }: UpstreamResponse, nowMs: number): AttemptResult {
  if (status >= 200 && status < 300) return { kind: 'delivered', status };
  if (status === 410) return { kind: 'final', reason: 'gone', status };
  if (status !== 429 && status < 500) return { kind: 'final', reason: 'refused', status };
  const waitMs = retryAfterMs(headers, nowMs);
  return { kind: 'retry', reason: 'unavailable', status, retryAfterMs: waitMs };
}
