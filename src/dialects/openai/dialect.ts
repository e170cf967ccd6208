/**
 * OpenAI's wire format as its upstreams speak it: OpenAI's own, and the many compatible servers.
 */
import type { Dialect } from '../dialect.ts';
import { serverSentEvents } from '../stream-format.ts';
import { openaiCapabilities } from './capabilities.ts';
import { openaiClient } from './client/codec.ts';
import { openaiFailure, openaiInBandFailure } from './errors.ts';
import { measureOpenai } from './prompt-size.ts';

/** The row of `table.ts`. */
export const openai: Dialect = {
  name: 'openai',
  capabilities: openaiCapabilities,
  paths: {
    content: () => '/chat/completions',
    images: () => '/images/generations',
    count_tokens: undefined,
  },
  credential: (secret) => ({ authorization: `Bearer ${secret}` }),
  sign: undefined,
  streams: serverSentEvents,
  readFailure: openaiFailure,
  inBandFailure: openaiInBandFailure,
  content: openaiClient,
  // Relayed as they are: the image protocol is OpenAI's.
  images: undefined,
  measure: measureOpenai,
  tokenCounter: undefined,
};
