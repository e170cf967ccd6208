/**
 * Estimates how many tokens a prompt is at most, from its bytes: a hold must cover the call before
 * a tokenizer or the upstream could say. The settle corrects it.
 */
import { type Gap, lengthOf } from '../bytes/body.ts';
import {
  afterName,
  firstInside,
  isString,
  nextInside,
  skipString,
  skipValue,
} from '../bytes/json-skip.ts';
import { closeBrace, closeBracket, openBrace, quote } from '../bytes/json-text.ts';
import type { ScannedBody } from '../bytes/scan-body.ts';

/** A prompt's size: text in tokens, and parts that bytes say nothing about. */
export interface PromptSize {
  readonly inputTokens: number;
  readonly mediaParts: number;
}

/** What the roles and separators of one message cost. */
const tokensPerMessage = 8;

/** Three bytes a token, and a fifth more: above what English, code and most scripts need. */
function tokensOf(bytes: number): number {
  return Math.ceil((bytes * 1.2) / 3);
}

/** What a protocol counts as it walks over its messages. */
export interface PromptTally {
  /** Of the text that is walked: what lies in them counts too. */
  readonly gaps: readonly Gap[];
  messages: number;
  /** Of text, and of parts of a kind nobody here knows. */
  bytes: number;
  mediaParts: number;
}

/** Nothing counted yet. */
export function promptTally(gaps: readonly Gap[]): PromptTally {
  return { gaps, messages: 0, bytes: 0, mediaParts: 0 };
}

/** Counts a value by its bytes, a string without its quotes: at least as many as it decodes to. */
export function addValue(tally: PromptTally, text: Uint8Array, start: number, end: number): void {
  const length = lengthOf(tally, start, end);
  tally.bytes += text[start] === quote ? length - 2 : length;
}

/** Counts one element that begins at `start`; gives where it ends. */
export type AddElement = (tally: PromptTally, bytes: Buffer, start: number) => number;

/** Counts every element of the array that begins at `start`; gives where that ends. */
export function addElements(
  tally: PromptTally,
  bytes: Buffer,
  start: number,
  add: AddElement,
): number {
  let at = firstInside(bytes, start);
  while (bytes[at] !== closeBracket) at = nextInside(bytes, add(tally, bytes, at));
  return at + 1;
}

/** Whether a part with this member is no text; its name begins at `name`, the value at `value`. */
export type IsMediaMember = (
  bytes: Buffer,
  name: number,
  nameEnd: number,
  value: number,
  end: number,
) => boolean;

/** Counts parts: one that is no text as such, another by its text, or by its bytes. */
export function partAdder(isMediaMember: IsMediaMember): AddElement {
  return (tally, bytes, start) => {
    if (bytes[start] !== openBrace) {
      const end = skipValue(bytes, start);
      tally.bytes += lengthOf(tally, start, end);
      return end;
    }
    let isMedia = false;
    let textBytes: number | undefined;
    let at = firstInside(bytes, start);
    while (bytes[at] !== closeBrace) {
      const nameEnd = skipString(bytes, at);
      const value = afterName(bytes, nameEnd);
      const end = skipValue(bytes, value);
      isMedia ||= isMediaMember(bytes, at, nameEnd, value, end);
      const isText = bytes[value] === quote && isString(bytes, at, nameEnd, 'text');
      if (isText) textBytes = lengthOf(tally, value, end) - 2;
      at = nextInside(bytes, end);
    }
    if (isMedia) tally.mediaParts += 1;
    else tally.bytes += textBytes ?? lengthOf(tally, start, at + 1);
    return at + 1;
  };
}

/** Tools and schemas are prompt too. */
export function addMembers(
  tally: PromptTally,
  scanned: ScannedBody,
  names: readonly string[],
): void {
  for (const { name, value } of scanned.members) {
    if (names.includes(name)) tally.bytes += lengthOf(tally, value.start, value.end);
  }
}

/** What was counted. */
export function sizeOf({ messages, bytes, mediaParts }: PromptTally): PromptSize {
  return { inputTokens: tokensOf(bytes) + messages * tokensPerMessage, mediaParts };
}
