/**
 * Recognises events of a chat stream that differ from an earlier one only in their content, as
 * nearly all do. The earlier event was parsed, so a few comparisons are enough for the others.
 */
import type { JsonObject } from '../../json.ts';
import { stringEnd } from '../../json-strings.ts';
import { singleContent } from '../content-count.ts';

/** A template that is learnt from one event. */
export interface EventTemplate {
  /** Returns the end of the event that starts at `at`, or -1 if it does not match. */
  match(text: string, at: number): number;
  /** Where the content of the event matched last starts and ends. */
  readonly start: number;
  readonly contentEnd: number;
  /** The member that holds the content if it is reasoning, else ''. */
  readonly reasoning: string;
  /**
   * Learns from the last of these whole events, given as latin1 with its document, if it has one
   * content string and nothing else that a model wrote.
   */
  learn(events: string, last: JsonObject | undefined): void;
}

/** The constant parts of an event. */
interface Pattern {
  /** The text before the content. */
  readonly head: string;
  /** The text from the content to the padding, or to the end. */
  readonly middle: string;
  /** The text after the padding; empty if there is no padding. */
  readonly end: string;
  /** The member that holds the content if it is reasoning, else ''. */
  readonly reasoning: string;
}

/** OpenAI pads its events with random text, so that their length does not reveal their content. */
const padding = '"obfuscation":"';
/**
 * Stops learning after this many attempts, so that a stream of ever different events is not parsed
 * twice.
 */
const maxMisses = 16;

/** Starts without a template. */
export function eventTemplate(): EventTemplate {
  let pattern: Pattern | undefined;
  let misses = 0;

  const match = (text: string, at: number): number => {
    if (pattern === undefined) return -1;
    const { head, middle, end, reasoning } = pattern;
    const start = at + head.length;
    // Comparing with `===` is four times as fast as `startsWith`, which compares each character.
    if (text.slice(at, start) !== head) return -1;
    const contentEnd = stringEnd(text, start);
    const paddingStart = contentEnd + middle.length;
    if (contentEnd === start || text.slice(contentEnd, paddingStart) !== middle) return -1;
    const paddingEnd = end === '' ? paddingStart : text.indexOf('"', paddingStart);
    const eventEnd = paddingEnd + end.length;
    if (paddingEnd === -1 || text.slice(paddingEnd, eventEnd) !== end) return -1;
    // A line break inside a string would end the event early.
    if (text.indexOf('\n', start) !== eventEnd - 2) return -1;
    misses = 0;
    template.reasoning = reasoning;
    template.start = start;
    template.contentEnd = contentEnd;
    return eventEnd;
  };

  const learn = (events: string, last: JsonObject | undefined): void => {
    if (misses >= maxMisses || !events.endsWith('}\n\n')) return;
    misses += 1;
    const before = events.lastIndexOf('\n\n', events.length - 3);
    const event = before === -1 ? events : events.slice(before + 2);
    pattern = patternOf(event, last) ?? pattern;
  };

  const template = { match, learn, start: 0, contentEnd: 0, reasoning: '' };
  return template;
}

/** The constant parts of an event that has one content string and nothing else of a model. */
function patternOf(event: string, document: JsonObject | undefined): Pattern | undefined {
  const isData = event.startsWith('data:') && document !== undefined;
  const content = isData ? singleContent(event, document) : undefined;
  if (content === undefined) return undefined;
  const { start, reasoning } = content;
  const contentEnd = stringEnd(event, start);
  const paddingAt = event.indexOf(padding, contentEnd);
  const paddingStart = paddingAt === -1 ? event.length : paddingAt + padding.length;
  const paddingEnd = paddingAt === -1 ? event.length : event.indexOf('"', paddingStart);
  return {
    head: event.slice(0, start),
    middle: event.slice(contentEnd, paddingStart),
    end: event.slice(paddingEnd),
    reasoning,
  };
}
