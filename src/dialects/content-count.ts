/**
 * Counts the content of replies where the upstream gives no figures: the bytes of the text, of the
 * reasoning and of the arguments of calls, without the JSON and the frames around them. It searches
 * bytes, because parsing each event would cost more than relaying it.
 */
import { asBuffer } from '../bytes/decode.ts';

/** What a byte of content counts: no text that people write is much denser. */
const tokensPerByte = { tokens: 2, bytes: 5 } as const;
/** What Google counts for one image of an answer. */
export const imageTokens = 1_290;
/** A twentieth of a second at 24,000 samples of two bytes, in Base64. */
export const charsPerAudioToken = 3_200;

/** Content in tokens, rounded up. */
export function contentTokens(bytes: number): number {
  return Math.ceil((bytes * tokensPerByte.tokens) / tokensPerByte.bytes);
}

/** The content of one reply so far. */
export interface ContentCount {
  /** Takes in whole events or a document, as latin1, and says whether they hold any content. */
  add(text: string): boolean;
  /** Counts one content string whose position is already known, see {@link singleContent}. */
  addString(text: string, at: number, start: number, end: number): void;
  /** Takes in what the search does not find: an image, a sound. */
  addTokens(tokens: number): void;
  tokens(): number;
}

/**
 * The members of OpenAI's replies that hold content. Each way has five letters, so that V8 skips
 * five bytes at a time. What stands inside of a string has escaped quotes and does not match.
 */
const openaiMembers = /(?:ntent|oning|ments|fusal|cript|"text|mmary)"/g;

/**
 * For OpenAI's chunks and documents. Vendors give the same reasoning under several names at once,
 * `reasoning_content`, `reasoning` and the `text` of `reasoning_details`: the longest counts.
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
        // What is encrypted has a `…_content` too, and is no content.
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

/** Text and thoughts of Gemini's parts, the code it ran and what came of it. */
const geminiMembers = /(?:"text|"code|utput)"/g;

/** For Gemini's events and documents. */
export function geminiContentCount(): ContentCount {
  let bytes = 0;
  let tokens = 0;
  const addAt = (_text: string, _at: number, more: number): void => {
    bytes += more;
  };
  return {
    // Nearly all of it is text, and one name is found faster than three. Only parts of code that
    // was executed have the others.
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

/** The one string of content in an event of OpenAI's; undefined where it has none, or several. */
export function singleContent(
  event: string,
): { readonly at: number; readonly start: number } | undefined {
  const found: { readonly at: number; readonly start: number }[] = [];
  countStrings(event, openaiMembers, (_text, at, _bytes, start) => found.push({ at, start }));
  return found.length === 1 ? found[0] : undefined;
}

/** Each way of the expressions above has five letters, and a quote behind them. */
const memberLength = 6;
const colon = 0x3a;
const quote = 0x22;

/** Gives each string behind `members` to `take`, in bytes. Whether there was one with any. */
function countStrings(
  text: string,
  members: RegExp,
  take: (text: string, at: number, bytes: number, start: number) => void,
): boolean {
  let hasAny = false;
  members.lastIndex = 0;
  // No match object: an allocation for each event.
  while (members.test(text)) {
    const behind = members.lastIndex;
    const start = valueStart(text, behind);
    if (start === -1) continue;
    const end = stringEnd(text, start);
    if (end > start) {
      hasAny = true;
      take(text, behind - memberLength, unescapedBytes(text, start, end), start);
    }
    members.lastIndex = end;
  }
  return hasAny;
}

/** A search goes from one first letter to the next, and an x is rare. */
const textEnd = 'xt"';

/** The same of `text` alone. */
function countTextStrings(
  text: string,
  take: (text: string, at: number, bytes: number) => void,
): boolean {
  let hasAny = false;
  let at = text.indexOf(textEnd);
  while (at !== -1) {
    const behind = at + textEnd.length;
    const start = text.startsWith('"te', at - 3) ? valueStart(text, behind) : -1;
    const end = start === -1 ? behind : stringEnd(text, start);
    if (start !== -1 && end > start) {
      hasAny = true;
      take(text, at, unescapedBytes(text, start, end));
    }
    at = text.indexOf(textEnd, end);
  }
  return hasAny;
}

/** Where the string begins that is this member's value, -1 where it has another. */
function valueStart(text: string, behind: number): number {
  let at = skipSpace(text, behind);
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

/** Where the string ends that begins here; the end of the text where it was cut. */
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

/** Servers that write all but ASCII as escapes give six bytes for what has two or three. */
function unescapedBytes(text: string, start: number, end: number): number {
  const raw = text.slice(start, end);
  let bytes = end - start;
  if (!raw.includes('\\')) return bytes;
  for (const [written, code] of raw.matchAll(escapes)) {
    bytes -= written.length - (code === undefined ? 1 : utf8Bytes(Number.parseInt(code, 16)));
  }
  return bytes;
}

/** Two halves of a character outside of the first plane have four bytes together. */
function utf8Bytes(code: number): number {
  if (code < 0x80) return 1;
  if (code < 0x800 || (code >= 0xd800 && code < 0xe000)) return 2;
  return 3;
}

/** What a document of any dialect holds, be it whole or cut, in tokens. */
export function documentTokens(bytes: Uint8Array): number {
  const text = asBuffer(bytes).toString('latin1');
  const counts = [openaiContentCount(), geminiContentCount()];
  for (const count of counts) count.add(text);
  return Math.max(...counts.map((count) => count.tokens()));
}
