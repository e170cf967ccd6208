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
  /** Takes in what the search does not find: an image, a sound. */
  addTokens(tokens: number): void;
  tokens(): number;
}

/**
 * The members of OpenAI's replies that hold content. Each way has five letters, so that V8 skips
 * five bytes at a time. What stands inside of a string has escaped quotes and does not match.
 */
const openaiMembers = /(?:ntent|oning|ments|fusal|cript|"text|mmary)"\s*:\s*"/g;

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
    add: (text) => eachValue(text, openaiMembers, addAt),
    addTokens: (more) => {
      tokens += more;
    },
    tokens: () => tokens + contentTokens(content + Math.max(reasoningContent, reasoning, details)),
  };
}

/** Text and thoughts of Gemini's parts, the code it ran and what came of it. */
const geminiMembers = /(?:"text|"code|utput)"\s*:\s*"/g;

/** For Gemini's events and documents. */
export function geminiContentCount(): ContentCount {
  let bytes = 0;
  let tokens = 0;
  const addAt = (_text: string, _at: number, more: number): void => {
    bytes += more;
  };
  return {
    add: (text) => eachValue(text, geminiMembers, addAt),
    addTokens: (more) => {
      tokens += more;
    },
    tokens: () => tokens + contentTokens(bytes),
  };
}

/** Gives each string behind `members` to `take`, in bytes. Whether there was one with any. */
function eachValue(
  text: string,
  members: RegExp,
  take: (text: string, at: number, bytes: number) => void,
): boolean {
  let hasAny = false;
  members.lastIndex = 0;
  for (let match = members.exec(text); match !== null; match = members.exec(text)) {
    const start = members.lastIndex;
    const end = stringEnd(text, start);
    if (end > start) {
      hasAny = true;
      take(text, match.index, unescapedBytes(text, start, end));
    }
    members.lastIndex = end;
  }
  return hasAny;
}

/** Where the string ends that begins here; the end of the text where it was cut. */
function stringEnd(text: string, start: number): number {
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
