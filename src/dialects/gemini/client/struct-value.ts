/**
 * Decides which tool results Gemini gets as JSON, and which as text. `functionResponse.response` is
 * a `google.protobuf.Struct`, which can't hold every JSON value.
 */
import { scanJson } from '../../../bytes/json/scan/scan.ts';
import { type JsonNode, jsonText, rawJson } from '../../../canonical/raw-json.ts';
import { isGatewayError } from '../../../errors.ts';
import { changesAsDoubles } from '../../../exact-numbers.ts';

/**
 * JSON text as a value, or as a string where a Struct would change or refuse the value: numbers are
 * doubles, an object has each name once, and a string is well-formed Unicode. A tool's bare `1.10`
 * stays text too, because it may be a version, and prints as `1.1`. The text of a JSON string stays
 * text, quotes included.
 */
export function structValue(text: string): JsonNode {
  if (isPlainScalar(text)) return rawJson(text);
  const isKept = /^\s*[[{]/.test(text) && isPlainJson(text) && !changesAsDoubles(text);
  return isKept && !hasLoneSurrogate(text) ? rawJson(text.trim()) : text;
}

/** Whether the text is a number as a double prints, `true`, `false` or `null`. */
function isPlainScalar(text: string): boolean {
  if (text === 'true' || text === 'false' || text === 'null') return true;
  const number = Number(text);
  return Number.isFinite(number) && String(number) === text;
}

/** Whether the text is JSON that every parser accepts and reads alike. */
function isPlainJson(text: string): boolean {
  try {
    scanJson(Buffer.from(jsonText({ output: rawJson(text) })));
    return true;
  } catch (error) {
    if (isGatewayError(error)) return false;
    throw error;
  }
}

/** Whether a string in valid JSON has half of a surrogate pair, most likely as an escape. */
function hasLoneSurrogate(json: string): boolean {
  const decoded = json.replace(/\\(?:u([\dA-Fa-f]{4})|.)/gs, (_, hex: string | undefined) =>
    hex === undefined ? '' : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return !decoded.isWellFormed();
}
