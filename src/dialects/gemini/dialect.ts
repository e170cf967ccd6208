/** Google's native wire format as its upstreams speak it: `generateContent` and `countTokens`. */
import type { Dialect } from '../dialect.ts';
import { upstreamPaths } from '../paths.ts';
import { serverSentEvents } from '../stream-format.ts';
import { geminiCapabilities } from './capabilities.ts';
import { geminiFailure, geminiInBandFailure } from './errors.ts';

export const gemini: Dialect = {
  name: 'gemini',
  capabilities: geminiCapabilities,
  paths: upstreamPaths.gemini,
  credential: (secret) => ({ 'x-goog-api-key': secret }),
  sign: undefined,
  streams: serverSentEvents,
  readFailure: geminiFailure,
  inBandFailure: geminiInBandFailure,
  codecs: async () => (await import('./codecs.ts')).codecs,
};
