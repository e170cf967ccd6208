/**
 * Reads a whole Gemini reply, with the same reader as a stream of one event, so that both say the
 * same of the same content.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ContentEvent } from '../../../canonical/reply.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { type ReadingContext, readStream } from './read-stream.ts';

/** The events of a reply; an array is a stream without framing, one document an element. */
export function readReply(reply: JsonValue, context: ReadingContext): readonly ContentEvent[] {
  const reader = readStream(context);
  const documents = Array.isArray(reply) ? items(reply) : [reply];
  const content = documents
    .flatMap((document) => reader.read(withoutRepeats(document)))
    .filter(({ type }) => type !== 'usage');
  return [...content, ...reader.end()];
}

/**
 * AI Studio puts the parts of all other candidates behind those of the first; Vertex does not
 * (TRANSLATION §6.10). What is left must be something: two candidates may well say the same.
 */
function withoutRepeats(document: JsonValue): JsonValue {
  const [first, ...others] = items(member(document, 'candidates'));
  if (!isJsonObject(document) || !isJsonObject(first) || others.length === 0) return document;
  const parts = partsOf(first);
  const repeated = others.flatMap(partsOf);
  if (repeated.length === 0 || repeated.length >= parts.length) return document;
  if (!isDeepStrictEqual(parts.slice(-repeated.length), repeated)) return document;
  const kept = parts.slice(0, -repeated.length);
  return { ...document, candidates: [withParts(first, kept), ...others] };
}

function partsOf(candidate: JsonValue): readonly JsonValue[] {
  return items(member(member(candidate, 'content'), 'parts'));
}

function withParts(candidate: JsonObject, parts: readonly JsonValue[]): JsonObject {
  const content = member(candidate, 'content');
  return { ...candidate, content: { ...(isJsonObject(content) ? content : {}), parts } };
}
