/**
 * Opens an upstream's answer: waits for the whole of a small reply or for the first event of a
 * stream, so that an early failure still gets its real status and another channel its chance.
 */

import { type BodyHead, type DetachableBody, peekHead, readHead } from '../bytes/body/head.ts';
import { type ChunkBuffer, chunkBuffer } from '../bytes/chunk-buffer.ts';
import { asBuffer } from '../bytes/decode.ts';
import { concatBytes, emptyBytes } from '../bytes/sse.ts';
import type { StreamTap } from '../dialects/tap.ts';
import type { UpstreamBody } from '../ports/upstream-client.ts';
import {
  beginsDocument,
  failureOf,
  heldRelayBytes,
  type Judgement,
  type PreparedCall,
  unreadable,
} from './prepared-call.ts';
import type { RunningCall } from './running.ts';
import type { OpenedResponse } from './send-upstream.ts';
import { onQuiet, streams } from './watch-attempt.ts';

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
export async function openReply(
  response: OpenedResponse,
  exchange: PreparedCall,
  running: Pick<RunningCall, 'attempt'>,
): Promise<Opening> {
  try {
    return await judged(response, exchange, running);
  } catch (error) {
    response.body.abort();
    throw error;
  }
}

async function judged(
  response: OpenedResponse,
  exchange: PreparedCall,
  running: Pick<RunningCall, 'attempt'>,
): Promise<Opening> {
  const { framing, takesDocumentAsStream, tap, streamType } = exchange;
  const type = (response.headers['content-type'] ?? '').toLowerCase();
  const isEvents = type.startsWith(streamType);
  if (isEvents ? framing === 'sse' : takesDocumentAsStream) {
    if (tap !== undefined) return openStream(response.body, tap(), { running });
  } else if (!isEvents && framing !== 'sse') return openDocument(response.body, exchange, running);
  return openMislabelled(response.body, exchange, running);
}

/** Servers, and proxies before them, label streams as text or not at all: the bytes tell. */
async function openMislabelled(
  body: DetachableBody,
  exchange: PreparedCall,
  running: Pick<RunningCall, 'attempt'>,
): Promise<Opening> {
  const first = await readHead(body, (chunk) => !isBlank(chunk));
  const { framing, tap, heldBytes } = exchange;
  const isDocument = beginsDocument(first.bytes);
  const isStream = framing === 'sse' ? !isDocument : exchange.takesDocumentAsStream;
  if (isStream && tap !== undefined) return openStream(body, tap(), { running, first });
  // Of what is no reply the beginning is enough to say so.
  const limit = isDocument ? heldBytes : Math.min(heldBytes, heldRelayBytes);
  return openArriving(body, { ...exchange, heldBytes: limit }, { running, first });
}

function isBlank(bytes: Uint8Array): boolean {
  return /^[\s\uFEFF]*$/.test(asBuffer(bytes).toString('utf8'));
}

const nothingRead: BodyHead = { bytes: emptyBytes, ended: false };

/** Opens it where the reply says something, or where it has been quiet for too long. */
async function openStream(
  body: DetachableBody,
  tap: StreamTap,
  { running, first = nothingRead }: StreamStart,
): Promise<Opening> {
  const { attempt } = running;
  if (attempt !== undefined) streams(attempt, tap.progress);
  const begun = chunkBuffer();
  const hasSaid = (chunk: Uint8Array): boolean => {
    const bytes = tap.write(chunk);
    if (bytes.length > 0) begun.add(bytes);
    // Pieces of a call may be held back until it is whole.
    const goesOut = tap.hasBegun() && begun.byteLength() > 0;
    return goesOut || tap.failure() !== undefined || tap.finished();
  };
  const isOpen = hasSaid(first.bytes) || first.ended;
  const head = isOpen
    ? first
    : await peekHead(body, hasSaid, (interrupt) => {
        if (attempt !== undefined) onQuiet(attempt, interrupt);
      });
  return judgeBeginning(body, tap, { begun, isOver: head.ended || tap.finished() });
}

interface StreamStart {
  readonly running: Pick<RunningCall, 'attempt'>;
  /** What was read of it before. */
  readonly first?: BodyHead;
}

function judgeBeginning(
  body: DetachableBody,
  tap: StreamTap,
  { begun, isOver }: { readonly begun: ChunkBuffer; readonly isOver: boolean },
): Opening {
  if (isOver && (!tap.hasBegun() || begun.byteLength() === 0)) {
    // Perhaps an error that was never framed, or a finish that only the end tells.
    const last = tap.end();
    if (last.length > 0) begun.add(last);
  }
  // What fails behind the first word is told in the stream, however the bytes came together.
  const goesOut = tap.hasBegun() && begun.byteLength() > 0;
  const failed = goesOut ? undefined : failureOf(tap);
  if (failed !== undefined) {
    body.abort();
    return failed;
  }
  const isEmpty = begun.byteLength() === 0;
  if (isOver && (isEmpty || !(tap.hasBegun() || tap.complete()))) {
    body.abort();
    const reason = isEmpty ? 'upstream_empty' : 'upstream_stream_truncated';
    return { kind: 'bad', reason, hasSaidNothing: true };
  }
  return { kind: 'streamed', begun: begun.drain(), rest: body, tap };
}

async function openDocument(
  body: DetachableBody,
  exchange: PreparedCall,
  running: StreamStart['running'],
): Promise<Opening> {
  const whole = body.takeWhole(exchange.heldBytes);
  return whole === undefined ? openArriving(body, exchange, { running }) : exchange.judge(whole);
}

async function openArriving(
  body: DetachableBody,
  exchange: PreparedCall,
  { running, first = nothingRead }: StreamStart,
): Promise<Opening> {
  const { heldBytes, framing, tap: makeTap } = exchange;
  const holdsEvent = framing === 'sse' ? eventSearch() : () => false;
  let length = first.bytes.length;
  let isStream = holdsEvent(first.bytes);
  const head =
    first.ended || length > heldBytes || isStream
      ? first
      : await readHead(body, (chunk) => {
          length += chunk.length;
          isStream = holdsEvent(chunk);
          return length > heldBytes || isStream;
        });
  const bytes =
    head === first ? first.bytes : concatBytes([first.bytes, head.bytes].filter(isFilled));
  if (isStream && makeTap !== undefined) {
    return openStream(body, makeTap(), { running, first: { bytes, ended: head.ended } });
  }
  if (head.ended && bytes.length <= heldBytes) return exchange.judge(bytes);
  const isDocument = beginsDocument(bytes);
  if (!isDocument || framing === 'sse' || makeTap === undefined) {
    body.abort();
    if (!isDocument) return unreadable(bytes);
    const isTooLarge = makeTap === undefined;
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

function isFilled({ length }: Uint8Array): boolean {
  return length > 0;
}

/** No line of a JSON document begins so. */
const eventLine = /[\r\n](?:data|event):/;
const eventLineLength = '\nevent:'.length;

/** Looks through the chunks of a body for an event behind what looks like a document. */
function eventSearch(): (chunk: Uint8Array) => boolean {
  let last = '';
  return (chunk) => {
    const text = last + asBuffer(chunk).toString('latin1');
    // As much as may be the beginning of a line whose rest is in the next chunk.
    last = text.slice(-eventLineLength);
    return eventLine.test(text);
  };
}
