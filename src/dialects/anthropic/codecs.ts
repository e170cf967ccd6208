/** What translations for Anthropic's upstreams need. */
import type { DialectCodecs } from '../dialect.ts';
import { anthropicClient, anthropicTokenCounter } from './client/codec.ts';
import { measureAnthropic } from './prompt-size.ts';

export const codecs: DialectCodecs = {
  content: anthropicClient,
  images: undefined,
  embeddings: undefined,
  measure: measureAnthropic,
  tokenCounter: anthropicTokenCounter,
};
