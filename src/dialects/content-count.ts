/**
 * Counts the content of a reply for which the upstream reports no usage: the bytes of text,
 * reasoning and tool-call arguments, without the JSON and the framing around them. It searches
 * bytes, because parsing each event would cost more than relaying it.
 */
import { asBuffer } from '../bytes/decode.ts';

/** Tokens per byte of content. Text written by people is hardly ever denser than that. */
const tokensPerByte = { tokens: 2, bytes: 5 } as const;
/** Tokens that Google counts for one generated image. */
export const imageTokens = 1_290;
/** Base64 characters of one audio token: a twentieth of a second of 16-bit samples at 24 kHz. */
export const charsPerAudioToken = 3_200;

/** Converts bytes of content to tokens, rounded up. */
export function contentTokens(bytes: number): number {
  return Math.ceil((bytes * tokensPerByte.tokens) / tokensPerByte.bytes);
}

/** Counts the content of one reply. */
export interface ContentCount {
  /**
   * Counts whole events or a document, given as latin1, and returns whether they hold any content.
   */
  add(text: string): boolean;
  /** Counts one content string whose position is already known, see {@link singleContent}. */
  addString(text: string, at: number, start: number, end: number): void;
  /** Adds tokens of content that the search does not see: images and audio. */
  addTokens(tokens: number): void;
  tokens(): number;
}

/**
 * Ends of the names of the members that hold content in OpenAI's replies. Each alternative has five
 * letters, so that V8 can skip five bytes at a time. A name inside a JSON string has escaped quotes
 * and does not match.
 */
const openaiMembers = /(?:ntent|oning|ments|fusal|cript|"text|mmary)"/g;

/**
 * Counts OpenAI's chunks and documents. Vendors send the same reasoning under several names at once
 * (`reasoning_content`, `reasoning`, the `text` of `reasoning_details`): only the longest is
 * counted.
 */
export function openaiContentCount(): ContentCount {
  let content = 0;
  let reasoningContent = 0;
  let reasoning = 0;
  let details = 0;
  let tokens = 0;

  const addAt = (text: string, at: number, bytes: number): void => {
    switch (text.charCodeAt(at)) {
      case 0x6f:
        reasoning += bytes;
        return;
      case 0x22:
        details += bytes;
        return;
      case 0x6d:
        if (text.charCodeAt(at + 1) === 0x6d) details += bytes;
        else content += bytes;
        return;
      default:
        // The name of encrypted reasoning also ends in `_content`, but encrypted data is not
        // counted.
        if (text.startsWith('reasoning_co', at - 12)) reasoningContent += bytes;
        else if (!text.startsWith('_co', at - 3)) content += bytes;
    }
  };

  return {
    add: (text) => countStrings(text, openaiMembers, addAt),
    addString: (text, at, start, end) => addAt(text, at, unescapedBytes(text, start, end)),
    addTokens: (more) => {
      tokens += more;
    },
    tokens: () => tokens + contentTokens(content + Math.max(reasoningContent, reasoning, details)),
  };
}

/** Members of Gemini's parts: text, which includes reasoning, executed code and its output. */
const geminiMembers = /(?:"text|"code|utput)"/g;

/** Counts Gemini's events and documents. */
export function geminiContentCount(): ContentCount {
  let bytes = 0;
  let tokens = 0;
  const addAt = (_text: string, _at: number, more: number): void => {
    bytes += more;
  };
  return {
    // Nearly all content is text, and searching for one name is faster than for three. Only parts
    // with executed code have the other two.
    add: (text) =>
      text.includes('xecut')
        ? countStrings(text, geminiMembers, addAt)
        : countTextStrings(text, addAt),
    addString: (text, at, start, end) => addAt(text, at, unescapedBytes(text, start, end)),
    addTokens: (more) => {
      tokens += more;
    },
    tokens: () => tokens + contentTokens(bytes),
  };
}

/** Finds the only content string of an OpenAI event; undefined if the event has none or several. */
export function singleContent(
  event: string,
): { readonly at: number; readonly start: number } | undefined {
  const found: { readonly at: number; readonly start: number }[] = [];
  countStrings(event, openaiMembers, (_text, at, _bytes, start) => found.push({ at, start }));
  return found.length === 1 ? found[0] : undefined;
}

/** Each alternative of the expressions above matches five letters and a quote. */
const memberLength = 6;
const colon = 0x3a;
const quote = 0x22;

/** Calls `take` for each non-empty string value of `members`; returns whether there was one. */
function countStrings(
  text: string,
  members: RegExp,
  take: (text: string, at: number, bytes: number, start: number) => void,
): boolean {
  let hasAny = false;
  members.lastIndex = 0;
  // `test` instead of `exec`: no match object is allocated for each event.
  while (members.test(text)) {
    const nameEnd = members.lastIndex;
    const start = valueStart(text, nameEnd);
    if (start === -1) continue;
    const end = stringEnd(text, start);
    if (end > start) {
      hasAny = true;
      take(text, nameEnd - memberLength, unescapedBytes(text, start, end), start);
    }
    members.lastIndex = end;
  }
  return hasAny;
}

/** `indexOf` looks for the first character, and an x is rare. */
const textEnd = 'xt"';

/** Like {@link countStrings}, for members called `text` only. */
function countTextStrings(
  text: string,
  take: (text: string, at: number, bytes: number) => void,
): boolean {
  let hasAny = false;
  let at = text.indexOf(textEnd);
  while (at !== -1) {
    const nameEnd = at + textEnd.length;
    const start = text.startsWith('"te', at - 3) ? valueStart(text, nameEnd) : -1;
    const end = start === -1 ? nameEnd : stringEnd(text, start);
    if (start !== -1 && end > start) {
      hasAny = true;
      take(text, at, unescapedBytes(text, start, end));
    }
    at = text.indexOf(textEnd, end);
  }
  return hasAny;
}

/** The start of the member's string value, -1 if its value is not a string. */
function valueStart(text: string, nameEnd: number): number {
  let at = skipSpace(text, nameEnd);
  if (text.charCodeAt(at) !== colon) return -1;
  at = skipSpace(text, at + 1);
  return text.charCodeAt(at) === quote ? at + 1 : -1;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); code === 0x20 || (code >= 9 && code <= 13); ) {
    at += 1;
    code = text.charCodeAt(at);
  }
  return at;
}

/**
 * Returns the end of the string that starts here; the end of the text if the string was cut off.
 */
export function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start);
  while (end !== -1 && isEscaped(text, start, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, start: number, at: number): boolean {
  let first = at;
  while (first > start && text.charCodeAt(first - 1) === 0x5c) first -= 1;
  return (at - first) % 2 === 1;
}

const escapes = /\\(?:u([0-9a-fA-F]{4})|.)/gs;

/**
 * Counts the bytes of the decoded string: servers that escape all non-ASCII characters send six
 * bytes for a character of two or three.
 */
function unescapedBytes(text: string, start: number, end: number): number {
  const raw = text.slice(start, end);
  let bytes = end - start;
  if (!raw.includes('\\')) return bytes;
  for (const [written, code] of raw.matchAll(escapes)) {
    bytes -= written.length - (code === undefined ? 1 : utf8Bytes(Number.parseInt(code, 16)));
  }
  return bytes;
}

/** A surrogate pair is four bytes of UTF-8, two for each half. */
function utf8Bytes(code: number): number {
  if (code < 0x80) return 1;
  if (code < 0x800 || (code >= 0xd800 && code < 0xe000)) return 2;
  return 3;
}

/** Counts the content of a document of any dialect, complete or cut off, in tokens. */
export function documentTokens(bytes: Uint8Array): number {
  const text = asBuffer(bytes).toString('latin1');
  const counts = [openaiContentCount(), geminiContentCount()];
  for (const count of counts) count.add(text);
  return Math.max(...counts.map((count) => count.tokens()));
}
