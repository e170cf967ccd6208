/** A content block that has begun, and the content that its deltas have added so far. */
import { parseBounded, parseBoundedExactly } from '../../../bounded-json.ts';
import { isCutJson } from '../../../canonical/cut-json.ts';
import type { Citation } from '../../../canonical/reply.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  member,
  stringOrEmpty,
} from '../../../json.ts';

/** A block that has begun. `input` came at its start, `json` is the input that came in deltas. */
export type OpenBlock =
  | { readonly kind: 'text'; readonly start: number; readonly citations: Citation[] }
  | { readonly kind: 'thinking'; signature: string }
  | { readonly kind: 'call'; readonly call: number; readonly input: string; json: string }
  | { readonly kind: 'reply'; readonly input: string; json: string }
  | { readonly kind: 'other'; readonly value: Map<string, JsonValue>; json: string };

/** A block of text; `start` is where its text begins in the text of the reply. */
export type TextBlock = Extract<OpenBlock, { kind: 'text' }>;
export type OtherBlock = Extract<OpenBlock, { kind: 'other' }>;

export function isUnfinishedCall(block: OpenBlock): boolean {
  if (block.kind !== 'call' && block.kind !== 'reply') return false;
  return block.json !== '' && parseBounded(block.json) === undefined;
}

export function isCutInput(block: OpenBlock): boolean {
  return (block.kind === 'call' || block.kind === 'reply') && isCutJson(block.json);
}

/** Accumulates the deltas of unknown blocks: their input, and string members of any name. */
export function accumulate(block: OtherBlock, change: JsonValue | undefined): void {
  if (member(change, 'type') === 'input_json_delta') {
    block.json += stringOrEmpty(member(change, 'partial_json'));
  } else addDelta(block.value, change);
}

function addDelta(value: Map<string, JsonValue>, change: JsonValue | undefined): void {
  for (const [name, piece] of isJsonObject(change) ? Object.entries(change) : []) {
    if (name === 'type' || typeof piece !== 'string') continue;
    const before = value.get(name);
    value.set(name, typeof before === 'string' ? before + piece : piece);
  }
}

export function wholeOf({ value, json }: OtherBlock): JsonObject {
  const members = Object.fromEntries(value);
  const input = json === '' ? undefined : parseBoundedExactly(json);
  return input === undefined ? members : { ...members, input };
}
