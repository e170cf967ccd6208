/** A kept reply as bytes: its headers as one line of JSON, then the body. */
import { jsonWithBigints, parseJson } from '../../json.ts';
import type { StoredResult } from '../../ports/replies/result-store.ts';
import { stringsFrom } from './usage/json.ts';

const lineFeed = 10;

export function resultBytes({ headers, body }: StoredResult): Uint8Array {
  return Buffer.concat([Buffer.from(`${jsonWithBigints(headers)}\n`), body]);
}

/** The reply, or undefined where the bytes are no reply. */
export function resultFromBytes(bytes: Uint8Array): StoredResult | undefined {
  const endOfHeaders = bytes.indexOf(lineFeed);
  const text = Buffer.from(bytes.subarray(0, Math.max(endOfHeaders, 0))).toString();
  const headers = stringsFrom(parseJson(text));
  if (headers === undefined) return undefined;
  return { headers, body: new Uint8Array(bytes.subarray(endOfHeaders + 1)) };
}
