/**
 * Watches a relayed chat stream: takes the usage frame out that only we asked for, rebuilds an
 * error sent in-band, reads the figures, and knows whether the stream came to its own end. Only
 * what is a chunk goes on: nothing else that an upstream says reaches a caller.
 */
import { asBuffer } from '../../bytes/decode.ts';
import {
  concatBytes,
  emptyBytes,
  eventCutter,
  eventStart,
  parseEvents,
  type SseEvent,
} from '../../bytes/sse.ts';
import type { GatewayError } from '../../errors.ts';
import {
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
  parseJson,
} from '../../json.ts';
import { candidateEnds } from '../candidate-ends.ts';
import { openaiContentCount } from '../content-count.ts';
import { streamUsage } from '../stream-usage.ts';
import {
  brokenReply,
  byteBounds,
  type FailureReport,
  maxEventBytes,
  type StreamTap,
} from '../tap.ts';
import { unframedText } from '../unframed-text.ts';
import { hasContentOrFinish, hasFinished, mediaTokens } from './chunk.ts';
import { openaiErrorText, openaiEventFailure } from './errors.ts';
import { eventTemplate } from './event-template.ts';
import { plainEnd } from './plain-events.ts';
import { openaiUsageReader } from './reply-usage.ts';
import { openaiUsageObject } from './usage.ts';

/**
 * What only a few events hold and is worth looking into: an error in any of its forms and figures,
 * a candidate's end, the stream's end. Names that stand in an answer's text are escaped and don't
 * match. Apart they are found in less time than by one expression with all of them, and parsing
 * each event costs thirty times as much. The first has five letters in each of its ways, and asks
 * behind them what stood before: V8 then skips five bytes at a time, a third of the time of
 * `[{,]\s*"(?:message|detail)` by itself.
 */
const inspectedPatterns: readonly RegExp[] = [
  /(?:error|Error|usage|ssage(?<=[{,]\s*"message)|etail(?<=[{,]\s*"detail))["\r\n](?!\s*:\s*null)/,
  /finish_reason"\s*:\s*"/,
  /\[DONE\]/,
];

/** What the tap needs to know of its call. */
export interface OpenaiStreamOptions {
  /** The caller did not ask for the usage frame, so it must not see one. */
  readonly stripUsage: boolean;
  /** Where it asked for several, each event is parsed: one that ends says nothing of the others. */
  readonly candidates: number;
  /** The vendor does not count reasoning among the completion's tokens. */
  readonly reasoningOutside: boolean;
}

/** A fresh one for each reply. */
export function openaiStreamTap(options: OpenaiStreamOptions): StreamTap {
  const { stripUsage, candidates, reasoningOutside } = options;
  const cutter = eventCutter(maxEventBytes);
  const counted = openaiContentCount();
  const bounds = byteBounds();
  const ends = candidates > 1 ? candidateEnds() : undefined;
  const usageSoFar = streamUsage(openaiUsageReader(reasoningOutside));
  const template = eventTemplate();
  let failure: FailureReport | undefined;
  let done = false;
  let finished = false;
  let begun = false;
  /** Grows with every block that says something. */
  let contentBlocks = 0;
  /** Text that was never framed; only the end says what it is. */
  const unframed = unframedText();

  const begin = (): void => {
    begun = true;
    contentBlocks += 1;
  };

  const recordFinish = (choices: readonly JsonValue[]): void => {
    if (ends === undefined) finished ||= choices.some(hasFinished);
    else {
      for (const choice of choices) ends.note(indexOf(choice), hasFinished(choice));
      finished = ends.allEnded();
    }
  };

  const readUsage = (document: JsonValue | undefined): void => {
    if (document === undefined) return;
    usageSoFar.add(openaiUsageObject(document), counted.tokens(), finished);
  };

  /** Takes in what an event says: the bytes that go on to the caller, undefined for none. */
  const acceptEvent = (event: SseEvent): Uint8Array | undefined => {
    const document = documentOf(event);
    if (isOtherObject(event, document)) return undefined;
    failure = openaiEventFailure(event, document) ?? badDataFailure(event, document);
    if (failure !== undefined) {
      readUsage(document);
      return undefined;
    }
    done = isDone(event);
    if (done) return framed(event);
    if (event.unframedText !== '') unframed.add(`${event.unframedText}\n`);
    if (event.data === undefined || !isJsonObject(document)) return undefined;
    return acceptChunk(event, document);
  };

  const acceptChunk = (event: SseEvent, document: JsonObject): Uint8Array | undefined => {
    const choices = items(member(document, 'choices'));
    const hasContent = counted.add(asBuffer(event.raw).toString('latin1'));
    counted.addTokens(hasContent ? 0 : mediaTokens(document));
    recordFinish(choices);
    const hasContentOrEnd = hasContent || hasContentOrFinish(document);
    if (hasContentOrEnd) begin();
    readUsage(document);
    const hasUsage = isJsonObject(member(document, 'usage'));
    if (choices.length === 0 && hasUsage) return stripUsage ? undefined : framed(event);
    // An event of another kind is none of a chat stream: nobody has judged what it says.
    return Array.isArray(member(document, 'choices')) ? framed(event) : undefined;
  };

  /** Looks into every event from `start` on. What goes on of the block, whose beginning does. */
  const inspect = (block: Uint8Array, start: number): Uint8Array => {
    const kept: Uint8Array[] = [];
    // Mostly all of it goes on, and is not copied.
    let from = 0;
    let at = start;
    for (const event of parseEvents(block.subarray(start))) {
      const before = contentBlocks;
      const bytes = acceptEvent(event);
      bounds.add(event.raw.length, contentBlocks !== before);
      const end = at + event.raw.length;
      if (bytes !== event.raw) {
        if (from < at) kept.push(block.subarray(from, at));
        if (bytes !== undefined) kept.push(bytes);
        from = end;
      }
      at = end;
      if (done || failure !== undefined) break;
    }
    if (from < at) kept.push(block.subarray(from, at));
    return concatBytes(kept);
  };

  const pass = (block: Uint8Array): Uint8Array => {
    if (block.length === 0) return block;
    if (ends !== undefined) return inspect(block, 0);
    const text = asBuffer(block).toString('latin1');
    const known = passMatching(text);
    if (known === text.length) return block;
    const plain = plainEnd(text, known);
    const unknown = text.slice(known, plain);
    const mark = firstInspected(unknown);
    const start = mark === -1 ? plain : eventStart(block, known + mark);
    if (start > known) {
      const plainEvents = unknown.slice(0, start - known);
      const areValid = areObjects(plainEvents);
      // A role looks as plain as text does.
      if (!areValid || !counted.add(plainEvents)) return inspect(block, known);
      template.learn(plainEvents);
      begin();
      bounds.add(start - known, true);
    }
    return start === block.length ? block : inspect(block, start);
  };

  /** Takes in the events that are like one before. Where they end. */
  const passMatching = (text: string): number => {
    let at = 0;
    for (let end = template.match(text, at); end !== -1; end = template.match(text, at)) {
      counted.addString(text, template.memberAt, template.start, template.contentEnd);
      at = end;
    }
    if (at > 0) {
      begin();
      bounds.add(at, true);
    }
    return at;
  };

  /**
   * An event whose blank line never came counts if it is whole. It goes on only if nothing has to
   * follow it: an error behind it would be read as its last line.
   */
  const passLastEvent = (rest: Uint8Array): Uint8Array => {
    const [event] = parseEvents(rest);
    if (event !== undefined && (documentOf(event) !== undefined || event.data === undefined)) {
      const bytes = acceptEvent(event);
      if (bytes !== undefined && failure === undefined)
        return done || finished ? bytes : emptyBytes;
    } else if (event !== undefined && isDone(event)) {
      done = true;
      return rest;
    }
    checkUnframed();
    return emptyBytes;
  };

  /** A document that came in place of events, over several lines. */
  const checkUnframed = (): void => {
    const unframedText = unframed.take();
    if (failure !== undefined || begun || unframedText.trim() === '') return;
    const event = { name: undefined, unframedText };
    failure = openaiEventFailure(event, undefined) ?? brokenReply('upstream_bad_stream');
  };

  return {
    write: (chunk) => (done ? emptyBytes : pass(cutter.push(chunk))),
    end: () => (done ? emptyBytes : passLastEvent(cutter.rest())),
    hasBegun: () => begun,
    finished: () => done,
    // Its end alone says nothing: a reply has content or a finish.
    complete: () => finished || (done && begun),
    failure: () => failure,
    usage: () => usageSoFar.soFar(counted.tokens()),
    countedTokens: counted.tokens,
    progress: () => contentBlocks,
    breakOff: (error: GatewayError) => [Buffer.from(`data: ${openaiErrorText(error)}\n\n`)],
  };
}

/**
 * An event as it goes on. OpenAI's own clients of version 4 take an `event:` line for another kind
 * of stream, and comments and ids are nobody's content: the data goes on alone.
 */
function framed({ raw, data = '', isDataOnly }: SseEvent): Uint8Array {
  if (isDataOnly) return raw;
  const lines = data.split('\n').map((line) => `data: ${line}`);
  return Buffer.from(`${lines.join('\n')}\n\n`);
}

/** A status with a message is neither a chunk nor an error, if it says what else it is. */
function isOtherObject({ name }: SseEvent, document: JsonValue | undefined): boolean {
  const kind = member(document, 'object');
  const isChunk = ['choices', 'error', 'usage'].some((one) => member(document, one) !== undefined);
  return typeof kind === 'string' && kind !== 'error' && !isChunk && name !== 'error';
}

/** What is data and no chunk: plain text, half a document, a bare string or list. */
function badDataFailure(
  event: SseEvent,
  document: JsonValue | undefined,
): FailureReport | undefined {
  const { data } = event;
  if (data === undefined || data.trim() === '' || isDone(event)) return undefined;
  return isJsonObject(document) ? undefined : brokenReply('upstream_bad_stream');
}

/** Whether the data of each of these plain events is an object. */
function areObjects(events: string): boolean {
  return events
    .split('\n')
    .every((line) => line.length <= 1 || isJsonObject(parseJson(line.slice('data:'.length))));
}

/** Where the first mark in the text begins, -1 where it has none. */
function firstInspected(text: string): number {
  let first = -1;
  for (const mark of inspectedPatterns) {
    const at = text.search(mark);
    if (at !== -1 && (first === -1 || at < first)) first = at;
  }
  return first;
}

/** What no parser reads is not given to one: to throw costs as much as ten events. */
function documentOf(event: SseEvent): JsonValue | undefined {
  const text = event.data ?? event.unframedText;
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
