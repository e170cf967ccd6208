/** What translations for Google's upstreams need. */
import type { DialectCodecs } from '../dialect.ts';
import { geminiClient, geminiTokenCounter } from './client/codec.ts';
import { geminiEmbeddings } from './embedding-client.ts';
import { geminiImages } from './image/codec.ts';
import { measureGemini } from './prompt-size.ts';

export const codecs: DialectCodecs = {
  content: geminiClient,
  images: geminiImages,
  embeddings: geminiEmbeddings,
  measure: measureGemini,
  tokenCounter: geminiTokenCounter,
};
