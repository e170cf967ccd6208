/** `POST /v1beta/models/{model}:generateContent` and its siblings: the native (Gemini) protocol. */
import { operations } from '../../call.ts';
import { geminiImageCounter } from '../../dialects/gemini/count-images.ts';
import { geminiCaller } from '../callers/gemini.ts';
import type { Protocol } from '../protocol.ts';
import { readNative } from './read.ts';
import { nativeRelay } from './relay.ts';

/** The row of `table.ts`. */
export const native: Protocol = {
  name: 'native',
  caller: geminiCaller,
  dialect: 'gemini',
  relayCapability: undefined,
  operation: operations.content,
  paths: {},
  methods: {
    generateContent: { operation: operations.content, framing: () => 'json' },
    streamGenerateContent: {
      operation: operations.content,
      framing: (search) =>
        new URLSearchParams(search).get('alt') === 'sse' ? 'sse' : 'json_array',
    },
    countTokens: {
      operation: operations.count_tokens,
      alsoFor: ['embeddings'],
      framing: () => 'json',
    },
  },
  maxBodyBytes: ({ maxBodyBytes }) => maxBodyBytes,
  // Google's clients don't send this header, and other clients of its streams have no use for it.
  repeatableAs: undefined,
  outputLimits: ['generationConfig.maxOutputTokens'],
  candidates: {
    member: 'generationConfig.candidateCount',
    maximum: Number.POSITIVE_INFINITY,
  },
  read: readNative,
  relay: nativeRelay,
  codecs: async () => ({
    content: (await import('../../dialects/gemini/server/codec.ts')).geminiServer,
    countTokens: { member: 'totalTokens', write: (count) => `{"totalTokens":${count}}` },
  }),
  imageCounter: geminiImageCounter,
  // A comment would end the stream for Google's older clients; all of them skip leading line ends.
  keepAlive: (framing, isFirst) => (isFirst && framing !== 'json' ? '\r\n' : undefined),
};
