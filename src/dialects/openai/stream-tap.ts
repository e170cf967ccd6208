/**
 * Watches a relayed chat stream: takes the usage frame out that only we asked for, rebuilds an
 * error sent in-band, reads the figures, and knows whether the stream came to its own end.
 */
import { asBuffer } from '../../bytes/decode.ts';
import {
  eventCutter,
  eventStart,
  eventsIn,
  hasData,
  joined,
  noBytes,
  type SseEvent,
} from '../../bytes/sse.ts';
import type { GatewayError } from '../../errors.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { candidateEnds } from '../candidate-ends.ts';
import { type FailureReport, maxEventBytes, type StreamTap } from '../tap.ts';
import { tokenCount } from '../token-count.ts';
import { openaiErrorText, openaiEventFailure } from './errors.ts';
import { openaiUsage } from './usage.ts';

/**
 * What only a few events hold and is worth looking into: an error in any of its forms and figures,
 * a candidate's end, the stream's end. Names that stand in an answer's text are escaped and don't
 * match. Apart they are found in less time than by one expression with all of them, and parsing
 * each event costs thirty times as much. The first has five letters in each of its ways, and asks
 * behind them what stood before: V8 then skips five bytes at a time, a third of the time of
 * `\{\s*"(?:message|detail)` by itself.
 */
const marks: readonly RegExp[] = [
  /(?:error|Error|usage|ssage(?<=\{\s*"message)|etail(?<=\{\s*"detail))["\r\n](?!\s*:\s*null)/,
  /finish_reason"\s*:\s*"/,
  /\[DONE\]/,
];

/**
 * `stripUsage`: the caller did not ask for the usage frame, so it must not see one. `candidates`:
 * where it asked for several, each event is parsed, for one that ends says nothing of the others.
 */
export function openaiStreamTap(stripUsage: boolean, candidates: number): StreamTap {
  const cutter = eventCutter(maxEventBytes);
  const counted = tokenCount();
  const ends = candidates > 1 ? candidateEnds() : undefined;
  let usage: Usage | undefined;
  let failure: FailureReport | undefined;
  let done = false;
  let finished = false;
  let spoken = 0;

  /** Takes in what an event says; whether it goes on to the caller. */
  const admit = (event: SseEvent, document: JsonValue | undefined): boolean => {
    failure = openaiEventFailure(event, document);
    if (failure !== undefined) return false;
    done = isDone(event);
    if (document === undefined) return true;
    const choices = items(member(document, 'choices'));
    if (ends === undefined) finished ||= choices.some(hasFinished);
    else {
      for (const choice of choices) ends.note(indexOf(choice), hasFinished(choice));
      finished = ends.allEnded();
    }
    usage = openaiUsage(document) ?? usage;
    const isUsageFrame = choices.length === 0 && isJsonObject(member(document, 'usage'));
    return !(stripUsage && isUsageFrame);
  };

  /** Looks into every event from `start` on. What goes on of the block, whose beginning does. */
  const inspect = (block: Uint8Array, start: number): Uint8Array => {
    const kept: Uint8Array[] = [];
    let from = 0;
    let at = start;
    for (const event of eventsIn(block.subarray(start))) {
      const isAdmitted = admit(event, documentOf(event));
      const end = at + event.raw.length;
      if (!isAdmitted) {
        if (from < at) kept.push(block.subarray(from, at));
        from = end;
      }
      at = end;
      if (done || failure !== undefined) break;
    }
    // Mostly all of it goes on, and is not copied.
    if (from < at) kept.push(block.subarray(from, at));
    return joined(kept);
  };

  const pass = (block: Uint8Array): Uint8Array => {
    if (block.length === 0) return block;
    if (hasData(block)) spoken += 1;
    const mark = ends === undefined ? firstMark(block) : 0;
    const passed = mark === -1 ? block : inspect(block, eventStart(block, mark));
    counted.add(passed);
    return passed;
  };

  /**
   * An event whose blank line never came counts if it is whole. It goes on only if nothing has to
   * follow it: an error behind it would be read as its last line.
   */
  const last = (rest: Uint8Array): Uint8Array => {
    const [event] = eventsIn(rest);
    if (event === undefined) return noBytes;
    const document = documentOf(event);
    const isWhole = document !== undefined || isDone(event);
    if (!isWhole || !admit(event, document) || event.data === undefined) return noBytes;
    counted.add(rest);
    return done || finished ? rest : noBytes;
  };

  return {
    write: (chunk) => (done ? noBytes : pass(cutter.push(chunk))),
    end: () => (done ? noBytes : last(cutter.rest())),
    finished: () => done,
    complete: () => done || finished,
    failure: () => failure,
    usage: () => usage,
    countedTokens: () => counted.tokens(),
    progress: () => spoken,
    breakOff: (error: GatewayError) => [Buffer.from(`data: ${openaiErrorText(error)}\n\n`)],
  };
}

/** Where the first mark in the block begins, -1 where it has none. */
function firstMark(block: Uint8Array): number {
  const text = asBuffer(block).toString('latin1');
  let first = -1;
  for (const mark of marks) {
    const at = text.search(mark);
    if (at !== -1 && (first === -1 || at < first)) first = at;
  }
  return first;
}

/** What no parser reads is not given to one: to throw costs as much as ten events. */
function documentOf(event: SseEvent): JsonValue | undefined {
  const text = event.data ?? event.loose;
  return text === '' || isDone(event) ? undefined : parseJson(text);
}

function isDone({ data }: SseEvent): boolean {
  return data?.trim() === '[DONE]';
}

/** A vendor that leaves it out has one. */
function indexOf(choice: JsonValue): number {
  const index = member(choice, 'index');
  return typeof index === 'number' ? index : 0;
}

function hasFinished(choice: JsonValue): boolean {
  const reason = member(choice, 'finish_reason');
  return typeof reason === 'string' && reason !== '';
}
