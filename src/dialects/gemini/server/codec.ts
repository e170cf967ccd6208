/** The codec for callers of the native (Gemini) protocol, such as Google's SDKs. */
import { jsonText } from '../../../canonical/raw-json.ts';
import type { ContentServerCodec } from '../../codec.ts';
import { readRequest } from './read-request.ts';
import { writeReply } from './write-reply.ts';
import { writeStream } from './write-stream.ts';

/** Reads `generateContent` requests and writes their replies. */
export const geminiServer: ContentServerCodec = { readRequest, writeReply, writeStream };

/** The response to `countTokens`. */
export function geminiTokenCountText(count: number): string {
  return jsonText({ totalTokens: count });
}
