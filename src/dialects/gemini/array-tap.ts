/**
 * Watches a relayed native stream without `alt=sse`: one JSON array, written element by element.
 */
import { elementCutter, isClosedArray } from '../../bytes/json-elements.ts';
import { noBytes } from '../../bytes/sse.ts';
import { items, type JsonValue, parseJson } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { type FailureReport, maxEventBytes, type StreamTap } from '../dialect.ts';
import { lastValueOf } from '../last-value.ts';
import { geminiErrorText, geminiInBandFailure } from './errors.ts';
import { geminiUsage } from './usage.ts';

const errorName = Buffer.from('"error"');
const usageName = Buffer.from('"usageMetadata"');

export function geminiArrayTap(): StreamTap {
  const cutter = elementCutter(maxEventBytes);
  let failure: FailureReport | undefined;
  let figures: Uint8Array | undefined;
  let begun = false;
  let closed = false;
  let bytes = 0;

  const pass = (block: Uint8Array): Uint8Array => {
    if (block.length === 0) return block;
    const view = Buffer.from(block.buffer, block.byteOffset, block.length);
    if (view.includes(errorName)) {
      failure = elementsIn(block).map(geminiInBandFailure).find(Boolean);
      if (failure !== undefined) return noBytes;
    }
    if (lastValueOf(view, usageName) !== undefined) figures = block;
    begun = true;
    closed = isClosedArray(block);
    bytes += block.length;
    return block;
  };

  return {
    write: (chunk) => pass(cutter.push(chunk)),
    // White space and a bracket are all that may be left; half an element is dropped.
    end: () => (closed ? cutter.rest() : noBytes),
    finished: () => false,
    complete: () => closed,
    failure: () => failure,
    usage: (): Usage | undefined =>
      figures === undefined ? undefined : geminiUsage(elementsIn(figures)),
    countedTokens: () => Math.ceil(bytes / 3),
    breakOff: (error) => [Buffer.from(`${begun ? ',' : '['}${geminiErrorText(error)}]`)],
  };
}

/** The elements of a block, whatever brackets and commas stand around them. */
function elementsIn(block: Uint8Array): readonly JsonValue[] {
  const text = Buffer.from(block).toString('utf8').trim().replace(/^[[,]/, '').replace(/\]$/, '');
  return items(parseJson(`[${text}]`));
}
