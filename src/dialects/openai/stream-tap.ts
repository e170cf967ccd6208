/**
 * Watches a relayed chat stream: takes the usage frame out that only we asked for, rebuilds an
 * error sent in-band, reads the figures, and knows whether the stream came to its own end.
 */
import { asBuffer } from '../../bytes/decode.ts';
import { eventCutter, eventsIn, hasData, joined, noBytes, type SseEvent } from '../../bytes/sse.ts';
import type { GatewayError } from '../../errors.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { candidateEnds } from '../candidate-ends.ts';
import { type FailureReport, maxEventBytes, type StreamTap } from '../tap.ts';
import { tokenCount } from '../token-count.ts';
import { openaiErrorText, openaiEventFailure } from './errors.ts';
import { openaiUsage } from './usage.ts';

/**
 * What only a few events hold and is worth looking into: an error in any of its forms, figures, a
 * candidate's end, the stream's end. One search of a block; parsing each event costs ten times as
 * much. Names that stand in an answer's text are escaped and don't match.
 */
const marks =
  /error"|event: ?error|\{\s*"(?:message|detail)"|usage"\s*:\s*\{|finish_reason"\s*:\s*"|\[DONE\]/;

/**
 * `stripUsage`: the caller did not ask for the usage frame, so it must not see one. `candidates`:
 * where it asked for several, each event is parsed, for one that ends says nothing of the others.
 */
export function openaiStreamTap(stripUsage: boolean, candidates: number): StreamTap {
  const cutter = eventCutter(maxEventBytes);
  const counted = tokenCount();
  const ends = candidateEnds();
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
    if (candidates > 1) {
      for (const choice of choices) ends.note(indexOf(choice), hasFinished(choice));
    }
    finished = candidates > 1 ? ends.allEnded() : finished || choices.some(hasFinished);
    usage = openaiUsage(document) ?? usage;
    const isUsageFrame = choices.length === 0 && isJsonObject(member(document, 'usage'));
    return !(stripUsage && isUsageFrame);
  };

  const inspect = (block: Uint8Array): Uint8Array => {
    const kept: Uint8Array[] = [];
    for (const event of eventsIn(block)) {
      if (admit(event, documentOf(event))) kept.push(event.raw);
      if (done || failure !== undefined) break;
    }
    return joined(kept);
  };

  const pass = (block: Uint8Array): Uint8Array => {
    if (hasData(block)) spoken += 1;
    const looksInside = candidates > 1 || marks.test(asBuffer(block).toString('latin1'));
    const passed = looksInside ? inspect(block) : block;
    counted.add(asBuffer(passed));
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
    counted.add(asBuffer(rest));
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

function documentOf({ data, loose }: SseEvent): JsonValue | undefined {
  const text = data ?? loose;
  return text === '' ? undefined : parseJson(text);
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
