/** Helpers that the writers of messages share. */
import type { JsonNode } from '../../../canonical/raw-json.ts';
import type { Members } from './piece.ts';

/** Messages, and the caller's members that were dropped from them. */
export interface Messages {
  readonly messages: readonly Members[];
  readonly dropped: readonly string[];
}

/** Returns the content of one message: a string for a single text, else its parts. */
export function contentOf(nodes: readonly JsonNode[], texts: readonly string[]): JsonNode {
  const [only] = texts;
  return nodes.length === 1 && only !== undefined ? only : nodes;
}

/** Writes a text part of a message. */
export function textNode(text: string): JsonNode {
  return { type: 'text', text };
}
