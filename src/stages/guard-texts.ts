/**
 * The texts of a body for a guard, also those that it holds encoded: a translation gives a model
 * the text of a Base64 file and the values in a tool call's `arguments`, so a guard that read only
 * the body as it is would miss them.
 */
import { parseBounded } from '../bounded-json.ts';
import { parseDataUrl } from '../canonical/media.ts';
import { isJsonObject, type JsonValue } from '../json.ts';

/** How often texts are looked for inside of texts: JSON in a file in Base64, and so on. */
const maxLayers = 4;
/** Enough to see that the content of an image is no text, without decoding all of it. */
const headChars = 4_096;
/** Shorter ones are words that happen to have the letters of Base64. */
const minBase64Chars = 8;

/** All strings in a value, at any depth, and after each one the texts that are encoded in it. */
export function textsOf(value: JsonValue): readonly string[] {
  const texts: string[] = [];
  addTexts(texts, value, maxLayers);
  return texts;
}

function addTexts(texts: string[], value: JsonValue, layers: number): void {
  if (typeof value === 'string') {
    texts.push(value);
    if (layers > 0) addEncoded(texts, value, layers - 1);
  } else if (Array.isArray(value)) {
    for (const element of value) addTexts(texts, element, layers);
  } else if (isJsonObject(value)) {
    for (const member of Object.values(value)) addTexts(texts, member ?? null, layers);
  }
}

function addEncoded(texts: string[], text: string, layers: number): void {
  if (/^\s*["[{]/.test(text)) {
    const value = parseBounded(text);
    if (value !== undefined) return addTexts(texts, value, layers);
  }
  const content = base64Text(parseDataUrl(text)?.data ?? text);
  if (content !== undefined) addTexts(texts, content, layers);
}

/** The text in Base64 of either alphabet; undefined if it is none, or holds something else. */
function base64Text(data: string): string | undefined {
  const head = data.slice(0, headChars);
  if (data.length < minBase64Chars || !/^[\w+/=\s-]*$/.test(head)) return undefined;
  if (decoded(head, { isWhole: head.length === data.length }) === undefined) return undefined;
  return decoded(data, { isWhole: true });
}

function decoded(data: string, { isWhole }: { readonly isWhole: boolean }): string | undefined {
  try {
    // A head may end within a character.
    const options = { stream: !isWhole };
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(data, 'base64'), options);
  } catch {
    return undefined;
  }
}
