/**
 * Estimates how many tokens a prompt is at most, from its bytes: a hold must cover the call before
 * a tokenizer or the upstream could say. The settle corrects it.
 */
import type { Member, Span } from '../bytes/json-scan.ts';
import { elementsOf, findMember, kindAt, membersOf, stringBytes } from '../bytes/members.ts';
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

/** Sums text bytes and media parts as a protocol walks over its messages. */
export interface PromptTally {
  message(): void;
  text(span: Span): void;
  /** A part of a kind nobody here knows: held by its bytes. */
  other(span: Span): void;
  media(): void;
  size(): PromptSize;
}

/** An empty tally over the spans of `body`. */
export function promptTally(body: Uint8Array): PromptTally {
  let messages = 0;
  let bytes = 0;
  let mediaParts = 0;
  return {
    message: () => {
      messages += 1;
    },
    text: (span) => {
      bytes += stringBytes(body, span);
    },
    other: (span) => {
      bytes += span.end - span.start;
    },
    media: () => {
      mediaParts += 1;
    },
    size: () => ({ inputTokens: tokensOf(bytes) + messages * tokensPerMessage, mediaParts }),
  };
}

/** Tools and schemas are prompt too. */
export function addMembers(
  tally: PromptTally,
  scanned: ScannedBody,
  names: readonly string[],
): void {
  for (const { name, value } of scanned.members) {
    if (names.includes(name)) tally.other(value);
  }
}

/** The elements of an array member, or none where it is of another kind. */
export function spansOf(body: Uint8Array, member: Member | undefined): readonly Span[] {
  return member !== undefined && kindAt(body, member.value) === 'array'
    ? elementsOf(body, member.value)
    : [];
}

/** The members of an object span, or undefined where it is of another kind. */
export function objectAt(body: Uint8Array, span: Span): readonly Member[] | undefined {
  return kindAt(body, span) === 'object' ? membersOf(body, span) : undefined;
}

/** The span of a string member, or undefined. */
export function stringMember(
  body: Uint8Array,
  members: readonly Member[],
  name: string,
): Span | undefined {
  const member = findMember(members, name);
  return member !== undefined && kindAt(body, member.value) === 'string' ? member.value : undefined;
}
