/** Translates the chat completions of callers to and from the common form. */
import type { ContentServerCodec } from '../../codec.ts';
import { readRequest } from './read-request.ts';
import { writeReply } from './write-reply.ts';
import { writeStream } from './write-stream.ts';

export const openaiServer: ContentServerCodec = {
  begin: (body, requested) => ({ request: readRequest(body, requested), writeReply, writeStream }),
};
