/** What translations for OpenAI's upstreams need. */
import type { DialectCodecs } from '../dialect.ts';
import { openaiClient } from './client/codec.ts';
import { openaiEmbeddings } from './embedding-client.ts';
import { measureOpenai } from './prompt-size.ts';

export const codecs: DialectCodecs = {
  content: openaiClient,
  // Image calls are always relayed, because the image protocol is OpenAI's.
  images: undefined,
  embeddings: openaiEmbeddings,
  measure: measureOpenai,
  tokenCounter: undefined,
};
