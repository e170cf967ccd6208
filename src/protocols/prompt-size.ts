/**
 * Estimates how many tokens a prompt is at most, from its bytes: a hold must cover the call before
 * a tokenizer or the upstream could say. The settle corrects it.
 */
import { quote } from '../bytes/json-text.ts';
import type { ScannedBody } from './fields.ts';

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
  messages: number;
  /** Of text, and of parts of a kind nobody here knows. */
  bytes: number;
  mediaParts: number;
}

/** Nothing counted yet. */
export function promptTally(): PromptTally {
  return { messages: 0, bytes: 0, mediaParts: 0 };
}

/** Counts a value by its bytes, a string without its quotes: at least as many as it decodes to. */
export function addValue(tally: PromptTally, body: Uint8Array, start: number, end: number): void {
  tally.bytes += body[start] === quote ? end - start - 2 : end - start;
}

/** Tools and schemas are prompt too. */
export function addMembers(
  tally: PromptTally,
  scanned: ScannedBody,
  names: readonly string[],
): void {
  for (const { name, value } of scanned.members) {
    if (names.includes(name)) tally.bytes += value.end - value.start;
  }
}

/** What was counted. */
export function sizeOf({ messages, bytes, mediaParts }: PromptTally): PromptSize {
  return { inputTokens: tokensOf(bytes) + messages * tokensPerMessage, mediaParts };
}
