/** Google's native wire format as its upstreams speak it: `generateContent` and `countTokens`. */
import type { Framing } from '../../call.ts';
import type { Dialect } from '../dialect.ts';
import { serverSentEvents } from '../stream-format.ts';
import { geminiCapabilities } from './capabilities.ts';
import { geminiClient, geminiTokenCounter } from './client/codec.ts';
import { geminiFailure, geminiInBandFailure } from './errors.ts';
import { geminiImages } from './image/codec.ts';
import { measureGemini } from './prompt-size.ts';
import { resourceName } from './resource.ts';

/** The entry in `table.ts`. */
export const gemini: Dialect = {
  name: 'gemini',
  capabilities: geminiCapabilities,
  paths: {
    content: (upstreamModel, framing) => `/${resourceOf(upstreamModel)}:${generateMethod(framing)}`,
    images: (upstreamModel) => `/${resourceOf(upstreamModel)}:generateContent`,
    count_tokens: (upstreamModel) => `/${resourceOf(upstreamModel)}:countTokens`,
    compact: undefined,
  },
  credential: (secret) => ({ 'x-goog-api-key': secret }),
  sign: undefined,
  streams: serverSentEvents,
  readFailure: geminiFailure,
  inBandFailure: geminiInBandFailure,
  content: geminiClient,
  images: geminiImages,
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

/** Encodes each segment, so that a configured name can't change the rest of the path. */
function resourceOf(upstreamModel: string): string {
  return resourceName(upstreamModel).split('/').map(encodeURIComponent).join('/');
}
