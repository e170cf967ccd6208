/** Watches a relayed native stream without `alt=sse`: a JSON array, sent element by element. */
import { parseBounded } from '../../bounded-json.ts';
import { asBuffer } from '../../bytes/decode.ts';
import { elementCutter } from '../../bytes/json/stream/elements.ts';
import { closeBracket } from '../../bytes/json/text.ts';
import { concatBytes, emptyBytes } from '../../bytes/sse.ts';
import { isJsonObject, items, type JsonValue, member } from '../../json.ts';
import { noUsage } from '../../money.ts';
import { type ContentCount, contentCount } from '../taps/content-count.ts';
import { recordContent, type StreamRecord, streamRecord } from '../taps/event-tap.ts';
import { brokenReply, type FailureReport, maxEventBytes, type StreamTap } from '../taps/tap.ts';
import { geminiUsageReader, type StreamUsage, streamUsage } from '../usage/stream-usage.ts';
import { geminiErrorText, geminiInBandFailure } from './errors.ts';
import { hasContentOrFinish, isBlockedPrompt, isReplyEvent } from './stream-record.ts';

interface ArrayRecord extends StreamRecord {
  readonly counted: ContentCount;
  readonly usage: StreamUsage;
  /** The bytes that were passed on. */
  bytes: number;
  hasFinished: boolean;
  /** The prompt was blocked, and no candidate was received. */
  isBlocked: boolean;
}

export function geminiArrayTap(): StreamTap {
  const cutter = elementCutter(maxEventBytes);
  const tap: ArrayRecord = {
    bytes: 0,
    hasFinished: false,
    isBlocked: false,
    ...streamRecord(contentCount(), streamUsage(geminiUsageReader)),
  };
  const { counted, usage } = tap;
  /** The closing bracket has been passed on, not only received. */
  let closed = false;
  return {
    write: (chunk) => {
      const bytes = pass(tap, cutter.push(chunk));
      closed = cutter.closed() && tap.failure === undefined && tap.begun;
      return bytes;
    },
    end: () => {
      const rest = cutter.rest();
      if (closed) return asBuffer(rest).toString('latin1').trim() === '' ? rest : emptyBytes;
      // An incomplete element is dropped. A complete document outside of the array can only be an
      // error.
      tap.failure ??= geminiInBandFailure(elementIn(rest) ?? null);
      return emptyBytes;
    },
    hasBegun: () => tap.begun,
    finished: () => false,
    complete: () => closed,
    failure: () => tap.failure,
    // A blocked prompt without stated usage costs nothing.
    usage: () => usage.soFar(counted.tokens()) ?? (tap.isBlocked ? noUsage : undefined),
    countedTokens: counted.tokens,
    // White space between elements is held back until the next element, so that only elements with
    // content count as progress.
    progress: () => tap.contentEvents,
    breakOff: (error) =>
      closed ? undefined : [Buffer.from(`${tap.bytes > 0 ? ',' : '['}${geminiErrorText(error)}]`)],
  };
}

function pass(tap: ArrayRecord, pieces: readonly Uint8Array[]): Uint8Array {
  const kept: Uint8Array[] = [];
  for (const piece of pieces) {
    if (!take(tap, piece)) break;
    kept.push(piece);
    tap.bytes += piece.length;
  }
  return concatBytes(kept);
}

/** Processes an element with its separator. Returns whether to pass it on. */
function take(tap: ArrayRecord, piece: Uint8Array): boolean {
  const { counted, bounds, usage } = tap;
  // An array without content isn't a reply: its closing bracket is held back for an error.
  if (isEnd(piece)) return tap.begun;
  const element = elementIn(piece);
  tap.failure = geminiInBandFailure(element ?? null) ?? faultOf(element);
  if (tap.failure !== undefined || element === undefined) return false;
  counted.add(element);
  const isContent = hasContentOrFinish(element);
  if (isContent) recordContent(tap);
  bounds.add(piece.length, isContent);
  tap.hasFinished ||= hasFinishReason(element);
  tap.isBlocked ||= counted.tokens() === 0 && isBlockedPrompt(element);
  usage.add(member(element, 'usageMetadata'), counted.tokens(), tap.hasFinished);
  return true;
}

function isEnd(piece: Uint8Array): boolean {
  return (
    piece[piece.length - 1] === closeBracket &&
    /^[\s[\]]*$/.test(asBuffer(piece).toString('latin1', 0, 64))
  );
}

/** Reports an element that isn't part of a reply. `{}` is allowed as an empty one. */
function faultOf(element: JsonValue | undefined): FailureReport | undefined {
  const isEmpty = isJsonObject(element) && Object.keys(element).length === 0;
  return isEmpty || isReplyEvent(element) ? undefined : brokenReply('upstream_bad_stream');
}

function hasFinishReason(element: JsonValue): boolean {
  return items(member(element, 'candidates')).some((one) => Boolean(member(one, 'finishReason')));
}

function elementIn(piece: Uint8Array): JsonValue | undefined {
  return parseBounded(
    asBuffer(piece)
      .toString('utf8')
      .replace(/^\s*[[,]/, ''),
  );
}
