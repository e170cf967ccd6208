/** `POST /v1/chat/completions`: OpenAI's chat completions. */
import { operations } from '../../call.ts';
import { openaiImageCounter } from '../../dialects/openai/count-images.ts';
import { openaiCaller } from '../callers/openai.ts';
import type { Protocol } from '../protocol.ts';
import { readChat } from './read.ts';
import { chatRelay } from './relay.ts';

/** The row of `table.ts`. */
export const chat: Protocol = {
  name: 'chat',
  caller: openaiCaller,
  dialect: 'openai',
  relayCapability: undefined,
  operation: operations.content,
  paths: { '/v1/chat/completions': operations.content },
  methods: {},
  maxBodyBytes: ({ maxBodyBytes }) => maxBodyBytes,
  repeatableAs: 'chat',
  outputLimits: ['max_tokens', 'max_completion_tokens'],
  candidates: { member: 'n', maximum: Number.POSITIVE_INFINITY },
  sessionOf: ({ promptCacheKey }) => promptCacheKey,
  read: readChat,
  relay: chatRelay,
  codecs: async () => ({
    content: (await import('../../dialects/openai/server/codec.ts')).openaiServer,
  }),
  imageCounter: openaiImageCounter,
  // All OpenAI clients ignore SSE comments.
  keepAlive: (framing) => (framing === 'sse' ? ': keep-alive\n\n' : undefined),
};
