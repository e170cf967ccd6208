/**
 * Opens an upstream's 2xx response. Waits for the whole of a small reply, or for the first event of
 * a stream that has content, so that an early failure still gets its real status and another
 * channel can be tried.
 */

import { ChunkBuffer } from '../../bytes/chunk-buffer.ts';
import { asBuffer, startsLikeJson } from '../../bytes/decode.ts';
import { concatBytes, emptyBytes } from '../../bytes/sse.ts';
import type { StreamTap } from '../../dialects/taps/tap.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { UpstreamBody } from '../../ports/upstream-client.ts';
import {
  type BodyHead,
  type DetachableBody,
  peekHead,
  readHead,
} from '../../upstream/body/head.ts';
import { BodyInTurns } from '../../upstream/body/in-turns.ts';
import { onQuiet, watchProgress } from '../../upstream/watch-attempt.ts';
import {
  type Judgement,
  maxBufferedRelayBytes,
  type PreparedRequest,
  tapFailure,
  unreadableReply,
} from '../prepare/prepared-call.ts';
import type { RunningCall } from '../running.ts';
import type { OpenedResponse } from './send-upstream.ts';

export type Opening = Judgement | StreamedReply;

/** A streamed reply; `firstOutput` is what its tap has already put out. */
export interface StreamedReply {
  readonly kind: 'streamed';
  readonly firstOutput: readonly Uint8Array[];
  readonly rest: UpstreamBody;
  readonly tap: StreamTap;
}

/**
 * Judges the beginning of a response, or all of it; synchronously if all of it has arrived. Aborts
 * a response that can't be judged.
 *
 * @throws UpstreamError if the body breaks off before it could be judged
 */
export function openReply(
  response: OpenedResponse,
  prepared: PreparedRequest,
  running: Pick<RunningCall, 'watch'>,
): MaybePromise<Opening> {
  const body = prepared.isComputed === true ? new BodyInTurns(response.body) : response.body;
  const { framing, canTapDocument, streamContentType } = prepared;
  const type = (response.headers['content-type'] ?? '').toLowerCase();
  const isEvents = type.startsWith(streamContentType);
  const isDocument = !isEvents && framing !== 'sse' && !canTapDocument;
  try {
    const whole = isDocument ? body.takeWhole(prepared.maxBufferedBytes) : undefined;
    if (whole !== undefined) return prepared.judge(whole);
  } catch (error) {
    body.abort();
    throw error;
  }
  return openArriving(body, prepared, { running }, isDocument, isEvents);
}

async function openArriving(
  body: DetachableBody,
  prepared: PreparedRequest,
  start: StreamStart,
  isDocument: boolean,
  isEvents: boolean,
): Promise<Opening> {
  const { framing, canTapDocument, tap } = prepared;
  try {
    if (isDocument) return await openUnfinished(body, prepared, start);
    const isStream = isEvents ? framing === 'sse' : canTapDocument;
    if (isStream && tap !== undefined) return await openStream(body, tap(), start);
    return await openByContent(body, prepared, start.running);
  } catch (error) {
    body.abort();
    throw error;
  }
}

/**
 * Some servers and proxies label streams as text or not at all, so the body's first bytes decide.
 */
async function openByContent(
  body: DetachableBody,
  prepared: PreparedRequest,
  running: Pick<RunningCall, 'watch'>,
): Promise<Opening> {
  const first = await readHead(body, (chunk) => !isBlank(chunk));
  const { framing, tap, maxBufferedBytes } = prepared;
  const isDocument = startsLikeJson(first.bytes);
  const isStream = framing === 'sse' ? !isDocument : prepared.canTapDocument;
  if (isStream && tap !== undefined) return openStream(body, tap(), { running, first });
  // The beginning suffices to recognise a body that is no reply.
  const limit = isDocument ? maxBufferedBytes : Math.min(maxBufferedBytes, maxBufferedRelayBytes);
  return openUnfinished(body, { ...prepared, maxBufferedBytes: limit }, { running, first });
}

function isBlank(bytes: Uint8Array): boolean {
  return /^[\s\uFEFF]*$/.test(asBuffer(bytes).toString('utf8'));
}

const noHead: BodyHead = { bytes: emptyBytes, ended: false };

/** Opens a stream once it has content, or has been quiet for too long. */
async function openStream(
  body: DetachableBody,
  tap: StreamTap,
  { running, first = noHead }: StreamStart,
): Promise<Opening> {
  const { watch } = running;
  if (watch !== undefined) watchProgress(watch, tap.progress);
  const output = new ChunkBuffer();
  const hasContent = (chunk: Uint8Array): boolean => {
    const bytes = tap.write(chunk);
    if (bytes.length > 0) output.add(bytes);
    return tap.hasBegun() || tap.failure() !== undefined || tap.finished();
  };
  const isOpen = hasContent(first.bytes) || first.ended;
  const head = isOpen
    ? first
    : await peekHead(body, hasContent, (interrupt) => {
        if (watch !== undefined) onQuiet(watch, interrupt);
      });
  return judgeStreamStart(body, tap, { output, isOver: head.ended || tap.finished() });
}

interface StreamStart {
  readonly running: Pick<RunningCall, 'watch'>;
  readonly first?: BodyHead;
}

function judgeStreamStart(
  body: DetachableBody,
  tap: StreamTap,
  { output, isOver }: { readonly output: ChunkBuffer; readonly isOver: boolean },
): Opening {
  if (isOver && (!tap.hasBegun() || output.byteLength() === 0)) {
    // The end may bring an error that was not framed as an event, or a finish that only the end
    // reveals.
    const last = tap.end();
    if (last.length > 0) output.add(last);
  }
  // A failure after the first content is reported inside the stream, even if both arrived in one
  // chunk, or if the caller does not get that content. A whole reply that is useless to the caller
  // still gets its status.
  const isUseless = output.byteLength() === 0 && tap.failure()?.isBilled === true;
  const failed = tap.hasBegun() && !isUseless ? undefined : tapFailure(tap);
  if (failed !== undefined) {
    body.abort();
    return failed;
  }
  const isEmpty = output.byteLength() === 0;
  if (isOver && (isEmpty || !(tap.hasBegun() || tap.complete()))) {
    body.abort();
    const reason = isEmpty ? 'upstream_empty' : 'upstream_stream_truncated';
    return { kind: 'bad', reason, endedBeforeContent: true };
  }
  // Joined, so that noise and the first content go out in one write.
  const firstOutput = isEmpty ? [] : [output.drain()];
  return { kind: 'streamed', firstOutput, rest: body, tap };
}

async function openUnfinished(
  body: DetachableBody,
  prepared: PreparedRequest,
  { running, first = noHead }: StreamStart,
): Promise<Opening> {
  const { maxBufferedBytes, framing, tap: makeTap } = prepared;
  const containsEvent = framing === 'sse' ? eventDetector() : () => false;
  const held = new ChunkBuffer();
  if (first.bytes.length > 0) held.add(first.bytes);
  let isStream = containsEvent(first.bytes);
  const isEnough = (): boolean => held.byteLength() > maxBufferedBytes || isStream;
  const { ended } =
    first.ended || isEnough()
      ? first
      : await peekHead(body, (chunk) => {
          held.add(chunk);
          isStream = containsEvent(chunk);
          return isEnough();
        });
  if (isStream && makeTap !== undefined) {
    return openStream(body, makeTap(), { running, first: { bytes: held.drain(), ended } });
  }
  if (ended && held.byteLength() <= maxBufferedBytes) return prepared.judge(held.drain());
  const pieces = headPieces(held);
  const isDocument = startsLikeJson(pieces[0] ?? emptyBytes);
  if (!isDocument || framing === 'sse' || makeTap === undefined) {
    body.abort();
    if (!isDocument) return unreadableReply(concatBytes(pieces));
    const isTooLarge = makeTap === undefined;
    return {
      kind: 'bad',
      reason: isTooLarge ? 'upstream_reply_too_large' : 'upstream_protocol_error',
    };
  }
  const tap = makeTap();
  const firstOutput = pieces.map((piece) => tap.write(piece)).filter(isFilled);
  const failed = tapFailure(tap);
  if (failed === undefined) return { kind: 'streamed', firstOutput, rest: body, tap };
  body.abort();
  return failed;
}

/** What a tap and the check of a document look at in their first chunk. */
const minFirstPieceBytes = 1024;

/** Joins the chunks only if the first is short: each copy of a large reply costs a tenth of it. */
function headPieces(held: ChunkBuffer): readonly Uint8Array[] {
  const pieces = held.take();
  const isLong = (pieces[0]?.length ?? 0) >= minFirstPieceBytes;
  return isLong ? pieces : [concatBytes(pieces)];
}

function isFilled({ length }: Uint8Array): boolean {
  return length > 0;
}

/** No line of a JSON document begins like this. */
const eventLine = /[\r\n](?:data|event):/;
const eventLineLength = '\nevent:'.length;

/** Searches the chunks for an event after what looks like a JSON document. */
function eventDetector(): (chunk: Uint8Array) => boolean {
  let last = '';
  return (chunk) => {
    const text = last + asBuffer(chunk).toString('latin1');
    // Kept because a line may be split between two chunks.
    last = text.slice(-eventLineLength);
    return eventLine.test(text);
  };
}
