/** Watches a relayed native stream without `alt=sse`: a JSON array, sent element by element. */
import { parseBounded } from '../../bounded-json.ts';
import { asBuffer } from '../../bytes/decode.ts';
import { elementCutter } from '../../bytes/json/stream/elements.ts';
import { closeBracket } from '../../bytes/json/text.ts';
import { concatBytes, emptyBytes } from '../../bytes/sse.ts';
import { isJsonObject, items, type JsonValue, member } from '../../json.ts';
import { noUsage } from '../../money.ts';
import { contentCount } from '../content-count.ts';
import { streamUsage } from '../stream-usage.ts';
import {
  brokenReply,
  byteBounds,
  type FailureReport,
  maxEventBytes,
  type StreamTap,
} from '../tap.ts';
import { geminiErrorText, geminiInBandFailure } from './errors.ts';
import { hasContentOrFinish, isBlockedPrompt, isReplyEvent } from './event.ts';
import { geminiUsageReader } from './reply-usage.ts';

/** Creates the tap of one reply. */
export function geminiArrayTap(): StreamTap {
  const cutter = elementCutter(maxEventBytes);
  const counted = contentCount();
  const bounds = byteBounds();
  const known = streamUsage(geminiUsageReader);
  let failure: FailureReport | undefined;
  let bytes = 0;
  let begun = false;
  let contentEvents = 0;
  let hasFinished = false;
  /** The prompt was blocked, and no candidate was received. */
  let isBlocked = false;
  /** The closing bracket has been passed on, not only received. */
  let closed = false;

  /** Processes an element with its separator. Returns whether to pass it on. */
  const take = (piece: Uint8Array): boolean => {
    // An array without content isn't a reply: its closing bracket is held back for an error.
    if (isEnd(piece)) return begun;
    const element = elementIn(piece);
    failure = geminiInBandFailure(element ?? null) ?? faultOf(element);
    if (failure !== undefined || element === undefined) return false;
    counted.add(element);
    const isContent = hasContentOrFinish(element);
    begun ||= isContent;
    if (isContent) contentEvents += 1;
    bounds.add(piece.length, isContent);
    hasFinished ||= hasFinishReason(element);
    isBlocked ||= counted.tokens() === 0 && isBlockedPrompt(element);
    known.add(member(element, 'usageMetadata'), counted.tokens(), hasFinished);
    return true;
  };

  const pass = (pieces: readonly Uint8Array[]): Uint8Array => {
    const kept: Uint8Array[] = [];
    for (const piece of pieces) {
      if (!take(piece)) break;
      kept.push(piece);
      bytes += piece.length;
    }
    closed = cutter.closed() && failure === undefined && begun;
    return concatBytes(kept);
  };

  return {
    write: (chunk) => pass(cutter.push(chunk)),
    end: () => {
      const rest = cutter.rest();
      if (closed) return isSpace(rest) ? rest : emptyBytes;
      // An incomplete element is dropped. A complete document outside of the array can only be an
      // error.
      failure ??= geminiInBandFailure(elementIn(rest) ?? null);
      return emptyBytes;
    },
    hasBegun: () => begun,
    finished: () => false,
    complete: () => closed,
    failure: () => failure,
    // A blocked prompt without stated usage costs nothing.
    usage: () => known.soFar(counted.tokens()) ?? (isBlocked ? noUsage : undefined),
    countedTokens: counted.tokens,
    // White space between elements is held back until the next element, so that only elements with
    // content count as progress.
    progress: () => contentEvents,
    breakOff: (error) =>
      closed ? undefined : [Buffer.from(`${bytes > 0 ? ',' : '['}${geminiErrorText(error)}]`)],
  };
}

/** Whether the piece is the bracket that ends the array, with optional white space before it. */
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

/** Parses the element of a piece, without the bracket or comma in front of it. */
function elementIn(piece: Uint8Array): JsonValue | undefined {
  return parseBounded(
    asBuffer(piece)
      .toString('utf8')
      .replace(/^\s*[[,]/, ''),
  );
}

function isSpace(bytes: Uint8Array): boolean {
  return asBuffer(bytes).toString('latin1').trim() === '';
}
