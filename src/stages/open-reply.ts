/**
 * Opens an upstream's answer: waits for the whole of a small reply or for the first event of a
 * stream, so that an early failure still gets its real status and another channel its chance.
 */
import { type HeldBody, readHead } from '../bytes/read-head.ts';
import { joined } from '../bytes/sse.ts';
import type { StreamTap } from '../dialects/tap.ts';
import { isPromiseLike, type MaybePromise } from '../ports/call-options.ts';
import type { UpstreamBody } from '../ports/upstream-client.ts';
import { beginsDocument, type Exchange, failureOf, type Judgement } from './exchange.ts';
import type { RunningCall } from './running.ts';
import type { OpenedResponse } from './send-upstream.ts';
import { streams } from './watch-attempt.ts';

/** What came of a 2xx answer. */
export type Opening = Judgement | StreamedReply;

/** A reply that streams past; `begun` has gone through the tap already. */
export interface StreamedReply {
  readonly kind: 'streamed';
  readonly begun: Uint8Array;
  readonly rest: UpstreamBody;
  readonly tap: StreamTap;
}

/**
 * Judges the beginning of an answer, or all of it; at once where all of it is here. An answer that
 * can't be judged is given up.
 *
 * @throws UpstreamError when the body breaks off before it could be judged
 */
export function openReply(
  response: OpenedResponse,
  exchange: Exchange,
  running: Pick<RunningCall, 'attempt'>,
): MaybePromise<Opening> {
  const giveUp = (error: unknown): never => {
    response.body.abort();
    throw error;
  };
  try {
    const opening = judged(response, exchange, running);
    return isPromiseLike(opening) ? opening.then(undefined, giveUp) : opening;
  } catch (error) {
    return giveUp(error);
  }
}

function judged(
  response: OpenedResponse,
  exchange: Exchange,
  { attempt }: Pick<RunningCall, 'attempt'>,
): MaybePromise<Opening> {
  const { framing, takesDocumentAsStream, tap } = exchange;
  const type = (response.headers['content-type'] ?? '').toLowerCase();
  const isEvents = type.startsWith('text/event-stream');
  const isStream = isEvents ? framing === 'sse' : takesDocumentAsStream;
  if (isStream && tap !== undefined) {
    const ofStream = tap();
    if (attempt !== undefined) streams(attempt, ofStream.progress);
    return openStream(response.body, ofStream);
  }
  if (!isEvents) return openDocument(response.body, exchange);
  response.body.abort();
  return { kind: 'bad', reason: 'upstream_protocol_error' };
}

async function openStream(body: HeldBody, tap: StreamTap): Promise<Opening> {
  const begun: Uint8Array[] = [];
  const head = await readHead(body, (chunk) => {
    const bytes = tap.write(chunk);
    begun.push(bytes);
    return bytes.length > 0 || tap.failure() !== undefined || tap.finished();
  });
  // Nothing but half an event came: perhaps an error that was never framed.
  const isOver = head.ended || tap.finished();
  if (isOver && begun.every(({ length }) => length === 0)) begun.push(tap.end());
  const failed = failureOf(tap);
  if (failed !== undefined) {
    body.abort();
    return failed;
  }
  const bytes = joined(begun.filter(({ length }) => length > 0));
  if (isOver && bytes.length === 0) {
    body.abort();
    return { kind: 'bad', reason: 'upstream_empty' };
  }
  return { kind: 'streamed', begun: bytes, rest: body, tap };
}

function openDocument(body: HeldBody, exchange: Exchange): MaybePromise<Opening> {
  const whole = body.takeWhole(exchange.heldBytes);
  return whole === undefined ? openArriving(body, exchange) : exchange.judge(whole);
}

async function openArriving(body: HeldBody, exchange: Exchange): Promise<Opening> {
  const { heldBytes, framing, tap: makeTap } = exchange;
  let length = 0;
  const head = await readHead(body, (chunk) => {
    length += chunk.length;
    return length > heldBytes;
  });
  const { bytes } = head;
  if (head.ended && bytes.length <= heldBytes) return exchange.judge(bytes);
  if (!beginsDocument(bytes) || framing === 'sse' || makeTap === undefined) {
    body.abort();
    const isTooLarge = beginsDocument(bytes) && makeTap === undefined;
    return {
      kind: 'bad',
      reason: isTooLarge ? 'upstream_reply_too_large' : 'upstream_protocol_error',
    };
  }
  const tap = makeTap();
  const begun = tap.write(bytes);
  const failed = failureOf(tap);
  if (failed === undefined) return { kind: 'streamed', begun, rest: body, tap };
  body.abort();
  return failed;
}
