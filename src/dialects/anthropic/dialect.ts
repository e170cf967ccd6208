/** Anthropic's wire format as its upstreams speak it: the Messages API. */
import type { Dialect } from '../dialect.ts';
import { upstreamPaths } from '../paths.ts';
import { serverSentEvents } from '../stream-format.ts';
import { anthropicCapabilities } from './capabilities.ts';
import { anthropicFailure, anthropicInBandFailure } from './errors.ts';

/** Newer API versions refuse sampling parameters at their default values. */
const version = '2023-06-01';

export const anthropic: Dialect = {
  name: 'anthropic',
  capabilities: anthropicCapabilities,
  paths: upstreamPaths.anthropic,
  credential: (secret) => ({ 'x-api-key': secret, 'anthropic-version': version }),
  sign: undefined,
  streams: serverSentEvents,
  readFailure: anthropicFailure,
  inBandFailure: anthropicInBandFailure,
  codecs: async () => (await import('./codecs.ts')).codecs,
};
