/** Translates the Messages requests of callers to and from the common form. */
import type { ContentServerCodec } from '../../codec.ts';
import { readRequest } from './read-request.ts';
import { writeReply } from './write-reply.ts';
import { writeStream } from './write-stream.ts';

export const anthropicServer: ContentServerCodec = {
  begin: (body, requested) => {
    const { request, unasked, context } = readRequest(body, requested);
    return {
      request,
      unasked,
      writeReply: (events, head) => writeReply(events, head, context),
      writeStream: (head) => writeStream(head, context),
    };
  },
};
