/**
 * Opens an upstream's 2xx response. Waits for the whole of a small reply, or for the first event of
 * a stream that has content, so that an early failure still gets its real status and another
 * channel can be tried.
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

/** The result of opening a 2xx response. */
export type Opening = Judgement | StreamedReply;

/** A streamed reply; `firstOutput` is what its tap has already put out. */
export interface StreamedReply {
  readonly kind: 'streamed';
  readonly begun: Uint8Array;
  readonly rest: UpstreamBody;
  readonly tap: StreamTap;
}

/**
 * Judges the beginning of a response, or all of it; synchronously if all of it has arrived. Aborts
 * a response that can't be judged.
 *
 * @throws UpstreamError if the body breaks off before it could be judged
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

/**
 * Some servers and proxies label streams as text or not at all, so the body's first bytes decide.
 */
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
  // The beginning suffices to recognise a body that is no reply.
  const limit = isDocument ? heldBytes : Math.min(heldBytes, heldRelayBytes);
  return openArriving(body, { ...exchange, heldBytes: limit }, { running, first });
}

function isBlank(bytes: Uint8Array): boolean {
  return /^[\s\uFEFF]*$/.test(asBuffer(bytes).toString('utf8'));
}

const nothingRead: BodyHead = { bytes: emptyBytes, ended: false };

/** Opens a stream once it has content, or has been quiet for too long. */
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
    // The tap may hold back pieces of a tool call until it is whole.
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
  /** The part of the body that was read before. */
  readonly first?: BodyHead;
}

function judgeBeginning(
  body: DetachableBody,
  tap: StreamTap,
  { begun, isOver }: { readonly begun: ChunkBuffer; readonly isOver: boolean },
): Opening {
  if (isOver && (!tap.hasBegun() || begun.byteLength() === 0)) {
    // The end may bring an error that was not framed as an event, or a finish that only the end
    // reveals.
    const last = tap.end();
    if (last.length > 0) begun.add(last);
  }
  // A failure after the first content is reported inside the stream, even if both arrived in one
  // chunk.
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

/** No line of a JSON document begins like this. */
const eventLine = /[\r\n](?:data|event):/;
const eventLineLength = '\nevent:'.length;

/**
 * Makes a function that searches the chunks of a body for an event after what looks like a JSON
 * document.
 */
function eventSearch(): (chunk: Uint8Array) => boolean {
  let last = '';
  return (chunk) => {
    const text = last + asBuffer(chunk).toString('latin1');
    // Kept because a line may be split between two chunks.
    last = text.slice(-eventLineLength);
    return eventLine.test(text);
  };
}
