/**
 * Watches a relayed native stream without `alt=sse`: one JSON array, written element by element.
 */
import { asBuffer } from '../../bytes/decode.ts';
import { elementCutter } from '../../bytes/json-elements.ts';
import { joined, noBytes } from '../../bytes/sse.ts';
import { type JsonValue, parseJson } from '../../json.ts';
import { lastValueOf } from '../last-value.ts';
import { type FailureReport, maxEventBytes, type StreamTap } from '../tap.ts';
import { geminiErrorText, geminiInBandFailure } from './errors.ts';
import { geminiUsage } from './usage.ts';

const errorName = Buffer.from('error"');
const usageName = Buffer.from('"usageMetadata"');

/** A fresh one for each reply. */
export function geminiArrayTap(): StreamTap {
  const cutter = elementCutter(maxEventBytes);
  let failure: FailureReport | undefined;
  /** The last element that held figures: they are read only when somebody asks. */
  let figures: Uint8Array | undefined;
  let bytes = 0;
  /** The last bracket has gone on, not only come in. */
  let closed = false;

  const look = (piece: Uint8Array): void => {
    const view = asBuffer(piece);
    if (view.includes(errorName)) failure = geminiInBandFailure(elementIn(piece) ?? null);
    if (lastValueOf(view, usageName) !== undefined) figures = piece;
  };

  const pass = (pieces: readonly Uint8Array[]): Uint8Array => {
    const kept: Uint8Array[] = [];
    for (const piece of pieces) {
      look(piece);
      if (failure !== undefined) break;
      kept.push(piece);
      bytes += piece.length;
    }
    closed = cutter.closed() && failure === undefined;
    return joined(kept);
  };

  return {
    write: (chunk) => pass(cutter.push(chunk)),
    end: () => {
      const rest = cutter.rest();
      if (closed) return isSpace(rest) ? rest : noBytes;
      // Half an element is dropped; a whole one that was never in the array is an error, if any.
      look(rest);
      return noBytes;
    },
    finished: () => false,
    complete: () => closed,
    failure: () => failure,
    usage: () => (figures === undefined ? undefined : geminiUsage(elementIn(figures) ?? null)),
    countedTokens: () => Math.ceil(bytes / 3),
    // An array has no comments: its space stays behind until an element comes.
    progress: () => bytes,
    breakOff: (error) =>
      closed ? undefined : [Buffer.from(`${bytes > 0 ? ',' : '['}${geminiErrorText(error)}]`)],
  };
}

/** The element of a piece, without the bracket or the comma in front of it. */
function elementIn(piece: Uint8Array): JsonValue | undefined {
  return parseJson(
    asBuffer(piece)
      .toString('utf8')
      .replace(/^\s*[[,]/, ''),
  );
}

function isSpace(bytes: Uint8Array): boolean {
  return asBuffer(bytes).toString('latin1').trim() === '';
}
