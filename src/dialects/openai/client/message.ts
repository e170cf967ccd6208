/** What the writers of messages share. */
import type { JsonNode } from '../../../canonical/raw-json.ts';
import type { Members } from './piece.ts';

/** Some messages, and what of the caller's is not in them. */
export interface Messages {
  readonly messages: readonly Members[];
  readonly dropped: readonly string[];
}

/** The text of one message: a string where it is one text, else its parts. */
export function contentOf(nodes: readonly JsonNode[], texts: readonly string[]): JsonNode {
  const [only] = texts;
  return nodes.length === 1 && only !== undefined ? only : nodes;
}

/** A text as a part of a message. */
export function textNode(text: string): JsonNode {
  return { type: 'text', text };
}
