/** The side of translation that stands toward OpenAI and the servers compatible with it. */
import type { ContentClientCodec } from '../../codec.ts';
import { readReply, readStream } from './read-reply.ts';
import { writeRequest } from './write-request.ts';
import { audioFormat } from './write-sampling.ts';

/** Writes chat completions and reads what they answer. */
export const openaiClient: ContentClientCodec = {
  begin: (request, target) => {
    const { body, dropped, names } = writeRequest(request, target);
    // Bare samples are 24,000 a second at OpenAI, as at Google.
    const audioMimeType = audioFormat(request) === 'wav' ? 'audio/wav' : 'audio/pcm;rate=24000';
    const { reasoningOutsideCompletion: reasoningOutside } = target.capabilities;
    const context = { names, ids: target.ids, audioMimeType, reasoningOutside };
    return {
      body,
      dropped,
      readReply: (reply) => readReply(reply, context),
      readStream: () => readStream(context),
    };
  },
};
