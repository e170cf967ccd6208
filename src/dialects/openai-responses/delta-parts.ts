/** Finds what differs between the deltas of a Responses stream. */
import { type JsonObject, type JsonValue, member } from '../../json.ts';
import { stringEnd, unescapedBytes } from '../../json-strings.ts';
import type { DeltaPart, DeltaParts } from '../delta-template.ts';

const delta = /[{,]"delta":"/;
const sequenceNumber = /[{,]"sequence_number":(\d{1,15})[,}]/;
/** OpenAI pads its events with random text, so that their length does not reveal their content. */
const padding = /[{,]"obfuscation":"([^"\\]*)"/;

/** Finds the parts of a delta whose content is one string. */
export function responsesDeltaParts(event: string, document: JsonObject): DeltaParts | undefined {
  const content = contentIn(event, member(document, 'delta'));
  if (content === undefined) return undefined;
  const parts: DeltaPart[] = [content];
  for (const [kind, expression] of [
    ['number', sequenceNumber],
    ['padding', padding],
  ] as const) {
    const match = expression.exec(event);
    const value = match?.[1];
    if (match === null || value === undefined) continue;
    const end = match.index + match[0].length - 1;
    parts.push({ kind, start: end - value.length, end });
  }
  return { parts, reasoning: '' };
}

/** Finds the content by its name, and checks that it is the one that was parsed. */
function contentIn(event: string, content: JsonValue | undefined): DeltaPart | undefined {
  const match = delta.exec(event);
  if (match === null || typeof content !== 'string' || !content.isWellFormed()) return undefined;
  const start = match.index + match[0].length;
  const end = stringEnd(event, start);
  const isSame = unescapedBytes(event, start, end) === Buffer.byteLength(content);
  return isSame ? { kind: 'content', start, end } : undefined;
}
