/** Google's native wire format as its upstreams speak it: `generateContent` and `countTokens`. */
import type { Framing } from '../../call.ts';
import type { Dialect } from '../dialect.ts';
import { serverSentEvents } from '../stream-format.ts';
import { geminiCapabilities } from './capabilities.ts';
import { geminiFailure, geminiInBandFailure } from './errors.ts';
import { resourcePath } from './resource.ts';

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
  codecs: async () => (await import('./codecs.ts')).codecs,
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
