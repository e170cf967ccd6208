/** Google's native wire format as its upstreams speak it: `generateContent` and `countTokens`. */
import type { Framing } from '../../call.ts';
import type { Dialect } from '../dialect.ts';
import { serverSentEvents } from '../stream-format.ts';
import { geminiCapabilities } from './capabilities.ts';
import { geminiClient, geminiTokenCounter } from './client/codec.ts';
import { geminiEmbeddings } from './embedding-client.ts';
import { geminiFailure, geminiInBandFailure } from './errors.ts';
import { geminiImages } from './image/codec.ts';
import { measureGemini } from './prompt-size.ts';
import { resourcePath } from './resource.ts';

/** The entry in `table.ts`. */
export const gemini: Dialect = {
  name: 'gemini',
  capabilities: geminiCapabilities,
  paths: {
    content: (upstreamModel, framing) =>
      `/${resourcePath(upstreamModel)}:${generateMethod(framing)}`,
    images: (upstreamModel) => `/${resourcePath(upstreamModel)}:generateContent`,
    embed: (upstreamModel) => `/${resourcePath(upstreamModel)}:batchEmbedContents`,
    count_tokens: (upstreamModel) => `/${resourcePath(upstreamModel)}:countTokens`,
    compact: undefined,
  },
  credential: (secret) => ({ 'x-goog-api-key': secret }),
  sign: undefined,
  streams: serverSentEvents,
  readFailure: geminiFailure,
  inBandFailure: geminiInBandFailure,
  content: geminiClient,
  images: geminiImages,
  embeddings: geminiEmbeddings,
  measure: measureGemini,
  tokenCounter: geminiTokenCounter,
};

function generateMethod(framing: Framing): string {
  switch (framing) {
    case 'json':
      return 'generateContent';
    case 'sse':
      return 'streamGenerateContent?alt=sse';
    case 'json_array':
      return 'streamGenerateContent';
  }
}
