/**
 * Recognises the deltas of a stream, which differ from an earlier one only in their content, their
 * number and their padding. The earlier one was parsed, so a few comparisons are enough for the
 * others.
 */
import type { JsonObject } from '../json.ts';
import { stringEnd } from '../json-strings.ts';

/** A template that is learnt from one event. */
export interface DeltaTemplate {
  /** Returns the end of the event that starts at `at`, or -1 if it does not match. */
  match(text: string, at: number): number;
  /** Where the content of the event matched last starts and ends. */
  readonly start: number;
  readonly contentEnd: number;
  /** Where its sequence number starts; -1 if these events have none. */
  readonly numberStart: number;
  /** The member that holds the content if it is reasoning, else ''. */
  readonly reasoning: string;
  /**
   * Learns from a delta, given as latin1 with its document, if it can be recognised. From then on
   * only deltas of the same item and kind match.
   */
  learn(event: string, document: JsonObject): void;
}

/**
 * A part of a delta that differs from event to event: the inside of the string that is its content,
 * a number, the inside of a string of padding, or spaces.
 */
export interface DeltaPart {
  readonly kind: 'content' | 'number' | 'padding' | 'spaces';
  readonly start: number;
  readonly end: number;
}

/** How the deltas of a stream differ from each other. */
export interface DeltaParts {
  /** In any order. Exactly one of them is the content. */
  readonly parts: readonly DeltaPart[];
  /** The member that holds the content if it is reasoning, else ''. */
  readonly reasoning: string;
}

/** A part and the constant text after it. */
interface Variable {
  readonly kind: DeltaPart['kind'];
  readonly after: string;
}

interface Pattern {
  /** The text before the first variable. */
  readonly head: string;
  /** In the order of the event. */
  readonly variables: readonly Variable[];
}

/**
 * Stops learning after this many attempts, so that a stream of ever different events is not
 * searched twice.
 */
const maxMisses = 16;

/**
 * Starts without a template.
 *
 * @param find finds the parts of an event; undefined if it has not exactly one content string
 */
export function deltaTemplate(
  find: (event: string, document: JsonObject) => DeltaParts | undefined,
): DeltaTemplate {
  let pattern: Pattern | undefined;
  let misses = 0;

  const match = (text: string, at: number): number => {
    const end = pattern === undefined ? -1 : matchPattern(pattern, text, at, template);
    if (end !== -1) misses = 0;
    return end;
  };

  const learn = (event: string, document: JsonObject): void => {
    if (misses >= maxMisses || !event.endsWith('}\n\n')) return;
    misses += 1;
    const found = find(event, document);
    if (found === undefined) return;
    pattern = patternOf(event, found.parts);
    template.reasoning = found.reasoning;
  };

  const template = { match, learn, start: 0, contentEnd: 0, numberStart: -1, reasoning: '' };
  return template;
}

/** The places of the variables of an event. */
interface Places {
  start: number;
  contentEnd: number;
  numberStart: number;
}

/** Returns the end of the event that starts at `at`, or -1; `places` are those of a match. */
function matchPattern(pattern: Pattern, text: string, at: number, places: Places): number {
  const { head, variables } = pattern;
  const headEnd = at + head.length;
  // Comparing with `===` is four times as fast as `startsWith`, which compares each character.
  if (text.slice(at, headEnd) !== head) return -1;
  let end = headEnd;
  places.numberStart = -1;
  for (const { kind, after } of variables) {
    const from = end;
    if (kind === 'content') {
      end = stringEnd(text, from);
      if (end === from) return -1;
      places.start = from;
      places.contentEnd = end;
    } else if (kind === 'padding') {
      end = text.indexOf('"', from);
      if (end === -1) return -1;
    } else if (kind === 'number') {
      end = digitsEnd(text, from);
      if (end === from) return -1;
      places.numberStart = from;
    } else {
      end = spacesEnd(text, from);
    }
    const next = end + after.length;
    if (text.slice(end, next) !== after) return -1;
    end = next;
  }
  // A line break inside a string would end the event early.
  return text.indexOf('\n', headEnd) === end - 2 ? end : -1;
}

function digitsEnd(text: string, from: number): number {
  let end = from;
  for (let code = text.charCodeAt(end); code >= 0x30 && code <= 0x39; ) {
    end += 1;
    code = text.charCodeAt(end);
  }
  return end;
}

function spacesEnd(text: string, from: number): number {
  let end = from;
  while (text.charCodeAt(end) === 0x20) end += 1;
  return end;
}

function patternOf(event: string, parts: readonly DeltaPart[]): Pattern {
  const ordered = [...parts].sort((a, b) => a.start - b.start);
  const variables = ordered.map(({ kind, end }, index) => ({
    kind,
    after: event.slice(end, ordered[index + 1]?.start),
  }));
  return { head: event.slice(0, ordered[0]?.start), variables };
}
