/** The wire format of OpenAI's upstreams: OpenAI's servers and the many compatible ones. */
import type { Dialect } from '../dialect.ts';
import { upstreamPaths } from '../paths.ts';
import { serverSentEvents } from '../stream-format.ts';
import { openaiCapabilities } from './capabilities.ts';
import { openaiFailure, openaiInBandFailure } from './errors.ts';

export const openai: Dialect = {
  name: 'openai',
  capabilities: openaiCapabilities,
  paths: upstreamPaths.openai,
  credential: (secret) => ({ authorization: `Bearer ${secret}` }),
  sign: undefined,
  streams: serverSentEvents,
  readFailure: openaiFailure,
  inBandFailure: openaiInBandFailure,
  codecs: async () => (await import('./codecs.ts')).codecs,
};
