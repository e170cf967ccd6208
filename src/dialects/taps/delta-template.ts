/**
 * Recognises the deltas of a stream, which differ from an earlier one only in their content, their
 * number and their padding. The earlier one was parsed, so a few comparisons are enough for the
 * others.
 */
import type { JsonObject, JsonValue } from '../../json.ts';
import { stringEnd, unescapedBytes } from '../../json-strings.ts';
import type { ContentCount } from './content-count.ts';
import { addReplyContent } from './reply-content.ts';

/**
 * A part of a delta that differs from event to event: the inside of the string that is its content,
 * a number, the inside of a string of padding, spaces, or an object, which is not checked.
 */
export interface DeltaPart {
  readonly kind: 'content' | 'number' | 'padding' | 'spaces' | 'object';
  readonly start: number;
  readonly end: number;
}

export interface DeltaParts {
  /** In any order. Exactly one of them is the content. */
  readonly parts: readonly DeltaPart[];
  /** The member that holds the content if it is reasoning, else ''. */
  readonly reasoning: string;
}

/**
 * Stops learning after this many attempts, so that a stream of ever different events is not
 * searched twice.
 */
const maxMisses = 16;

/**
 * Content that must be parsed: a data URL, which counts as an image, however it is escaped, and
 * what may not be valid JSON.
 */
const unusual = /^data:|^[dat]{0,4}\\u00[367]|[^ -\xff]|\\(?!["\\/bfnrt]|u[\da-fA-F]{4})/;

export class DeltaTemplate {
  readonly #find: (event: string, document: JsonObject) => DeltaParts | undefined;
  #head = '';
  #variables: readonly { readonly kind: DeltaPart['kind']; readonly after: string }[] = [];
  #reasoning = '';
  /** How many characters before its end the event has its last line feed but one. */
  #lineEnd = 2;
  #misses = 0;
  /** Where the content of the event matched last starts and ends. */
  start = 0;
  contentEnd = 0;
  /** The same for its object; `objectStart` is -1 if these events have none. */
  objectStart = -1;
  objectEnd = -1;
  /** How many events `pass` has counted last. */
  events = 0;
  /** Where the sequence number of the last one starts; -1 if these events have none. */
  numberStart = -1;

  /** `find` returns the parts of an event; undefined if it has not exactly one content string. */
  constructor(find: (event: string, document: JsonObject) => DeltaParts | undefined) {
    this.#find = find;
  }

  /**
   * `event` is latin1. From then on only deltas of the same item and kind match. Returns false if
   * nothing was learned.
   */
  learn(event: string, document: JsonObject): boolean {
    const tail = tailOf(event);
    if (this.#misses >= maxMisses || tail === undefined) return false;
    this.#misses += 1;
    const found = this.#find(event, document);
    if (found === undefined) return false;
    this.#lineEnd = tail.lastIndexOf('\n') - tail.indexOf('\n') + 1;
    const ordered = [...found.parts].sort((a, b) => a.start - b.start);
    this.#head = event.slice(0, ordered[0]?.start);
    this.#variables = ordered.map(({ kind, end }, index) => ({
      kind,
      after: event.slice(end, ordered[index + 1]?.start),
    }));
    this.#reasoning = found.reasoning;
    this.objectStart = -1;
    return true;
  }

  /** The end of the event that starts at `at`, or -1 if it does not match. */
  next(text: string, at: number): number {
    const end = this.#match(text, at);
    if (end !== -1) this.#misses = 0;
    return end;
  }

  /** Counts the deltas from `start` on that match; returns the end of the last one. */
  pass(text: string, start: number, counted: Pick<ContentCount, 'addString'>): number {
    this.events = 0;
    let at = start;
    while (at < text.length) {
      const end = this.#match(text, at);
      if (end === -1) break;
      counted.addString(text, this.start, this.contentEnd, this.#reasoning);
      this.events += 1;
      at = end;
    }
    if (at > start) this.#misses = 0;
    return at;
  }

  /** Returns the end of the event that starts at `at`, or -1 if it does not match. */
  #match(text: string, at: number): number {
    const headEnd = at + this.#head.length;
    // Comparing with `===` is four times as fast as `startsWith`, which compares each character.
    if (headEnd === at || text.slice(at, headEnd) !== this.#head) return -1;
    let end = headEnd;
    let numberStart = -1;
    for (const { kind, after } of this.#variables) {
      const from = end;
      if (kind === 'content') {
        end = stringEnd(text, from);
        if (end === from || unusual.test(text.slice(from, end))) return -1;
        this.start = from;
        this.contentEnd = end;
      } else if (kind === 'object') {
        end = text.indexOf(after, from);
        if (end === -1) return -1;
        this.objectStart = from;
        this.objectEnd = end;
      } else if (kind === 'padding') {
        end = text.indexOf('"', from);
        if (end === -1 || unusual.test(text.slice(from, end))) return -1;
      } else if (kind === 'number') {
        end = runEnd(text, from, 0x30, 0x39);
        if (end === from) return -1;
        numberStart = from;
      } else {
        end = runEnd(text, from, 0x20, 0x20);
      }
      const next = end + after.length;
      if (text.slice(end, next) !== after) return -1;
      end = next;
    }
    // A line break inside a string would end the event early.
    if (text.indexOf('\n', headEnd) !== end - this.#lineEnd) return -1;
    this.numberStart = numberStart;
    return end;
  }
}

function tailOf(event: string): string | undefined {
  return ['}\n\n', '}\r\n\r\n'].find((tail) => event.endsWith(tail));
}

/** Anthropic hides the length of the content with spaces before the last brace. */
export function spacesAtEnd(event: string): DeltaPart {
  const end = event.lastIndexOf('}');
  let start = end;
  while (event.charCodeAt(start - 1) === 0x20) start -= 1;
  return { kind: 'spaces', start, end };
}

/** The end of the characters from `from` on that are between these two. */
function runEnd(text: string, from: number, first: number, last: number): number {
  let end = from;
  for (let code = text.charCodeAt(end); code >= first && code <= last; ) {
    end += 1;
    code = text.charCodeAt(end);
  }
  return end;
}

/** OpenAI pads its events with random text, so that their length does not reveal their content. */
export const padding: RegExp = /[{,]"obfuscation":"([^"\\]*)"/;

/** Finds a part by an expression whose group is the part and ends one character before its end. */
export function partIn(event: string, kind: DeltaPart['kind'], expression: RegExp): DeltaPart[] {
  const match = expression.exec(event);
  const value = match?.[1];
  if (match === null || value === undefined) return [];
  const end = match.index + match[0].length - 1;
  return [{ kind, start: end - value.length, end }];
}

/**
 * Ends of the names of the members that hold a content string in nearly all events of OpenAI and
 * Anthropic. A name inside a JSON string has escaped quotes and does not match.
 */
const commonMembers = /(?:content|reasoning|arguments|text|thinking|partial_json)"\s*:\s*"(?!")/g;

/** `event` is latin1. Undefined for none, several, or content in a member of another name. */
export function onlyContent(
  event: string,
  document: JsonValue,
): (DeltaPart & Pick<DeltaParts, 'reasoning'>) | undefined {
  const [match, ...otherMatches] = event.matchAll(commonMembers);
  const found: { bytes: number; reasoning: string }[] = [];
  const addOther = (): unknown => found.push({ bytes: -1, reasoning: '' });
  addReplyContent(document, {
    addBytes: (bytes, reasoning) => {
      if (bytes > 0) found.push({ bytes, reasoning });
    },
    addTokens: addOther,
    addSealed: addOther,
    addUnknown: addOther,
  });
  const [only, ...others] = found;
  if (match === undefined || only === undefined) return undefined;
  if (otherMatches.length > 0 || others.length > 0) return undefined;
  const start = match.index + match[0].length;
  const end = stringEnd(event, start);
  const isSame = unescapedBytes(event, start, end) === only.bytes;
  return isSame ? { kind: 'content', start, end, reasoning: only.reasoning } : undefined;
}
