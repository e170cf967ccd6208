/** The codec for callers of the native (Gemini) protocol, such as Google's SDKs. */
import type { ContentServerCodec } from '../../codec.ts';
import { readRequest } from './read-request.ts';
import { writeReply } from './write-reply.ts';
import { writeStream } from './write-stream.ts';

export const geminiServer: ContentServerCodec = {
  begin: (body, requested) => ({
    request: readRequest(body, requested),
    takesCallsTogether: true,
    writeReply,
    writeStream,
  }),
};
