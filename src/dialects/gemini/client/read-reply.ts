/**
 * Reads a whole Gemini reply with the stream reader, so that both give the same events for the same
 * content.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ContentEvent } from '../../../canonical/reply.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { type ReadContext, readStream } from './read-stream.ts';

/** The events of a reply. An array has one document per element: a stream without SSE framing. */
export function readReply(reply: JsonValue, context: ReadContext): readonly ContentEvent[] {
  const reader = readStream(context);
  const documents = Array.isArray(reply) ? items(reply) : [reply];
  const content = documents
    .flatMap((document) => reader.read(withoutRepeats(document)))
    .filter(({ type }) => type !== 'usage');
  return [...content, ...reader.end()];
}

/**
 * AI Studio appends the parts of all other candidates to those of the first; Vertex doesn't. The
 * repeats are removed only if parts remain, since two candidates may be equal.
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
