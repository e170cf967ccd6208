/**
 * Posts a notification once, signed by Standard Webhooks
 * (https://github.com/standard-webhooks/standard-webhooks), and says what the outcome means.
 */

import { createHmac } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { retryAfterMs } from '../dialects/retry-after.ts';
import { isUpstreamError, UpstreamError } from '../errors.ts';
import type { NotificationFailure } from '../events/notification-types.ts';
import { swallowErrors } from '../events/thrown.ts';
import type { UpstreamBody, UpstreamClient, UpstreamResponse } from '../ports/upstream-client.ts';
import type { Message } from './messages.ts';

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

const prefix = 'whsec_';
const minBytes = 24;
const maxBytes = 64;

/** The key in a secret, `whsec_` and base64 of 24 to 64 bytes; undefined if it is none. */
export function keyIn(secret: string): Buffer | undefined {
  if (!secret.startsWith(prefix)) return undefined;
  const text = secret.slice(prefix.length);
  const key = Buffer.from(text, 'base64');
  // Node skips what is not base64, and a receiver would then compute with another key.
  const whole = key.toString('base64');
  const isWhole = text === whole || text === whole.replaceAll('=', '');
  return isWhole && key.length >= minBytes && key.length <= maxBytes ? key : undefined;
}

/** The headers of a notification; `webhook-signature` has a signature for each key. */
function signedHeaders(
  { id, body }: { readonly id: string; readonly body: Uint8Array },
  nowMs: number,
  keys: readonly Uint8Array[],
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signatures = keys.map((key) => {
    const mac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body);
    return `v1,${mac.digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
