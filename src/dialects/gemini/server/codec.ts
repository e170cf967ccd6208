/** The side of the Gemini dialect that stands toward callers: Google's SDKs. */
import { jsonText } from '../../../canonical/raw-json.ts';
import type { ContentServerCodec } from '../../codec.ts';
import { readRequest } from './read-request.ts';
import { writeReply } from './write-reply.ts';
import { writeStream } from './write-stream.ts';

/** Reads `generateContent` requests and writes their replies. */
export const geminiServer: ContentServerCodec = { readRequest, writeReply, writeStream };

/** The answer to `countTokens`. */
export function geminiTokenCountText(count: number): string {
  return jsonText({ totalTokens: count });
}
