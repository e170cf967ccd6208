/**
 * The paths of each operation below an upstream's base URL. A catalog is checked by this table
 * alone, without loading the wire formats.
 */
import type { Framing, OperationName } from '../call.ts';
import type { DialectName } from '../ports/catalog.ts';
import { resourcePath } from './gemini/resource.ts';

/** Path and query below the channel's base URL. */
export type UpstreamPath = (upstreamModel: string, framing: Framing) => string;

/** Undefined: the provider has no such operation. */
export type UpstreamPaths = Readonly<Record<OperationName, UpstreamPath | undefined>>;

export const upstreamPaths: Readonly<Record<DialectName, UpstreamPaths>> = {
  openai: {
    content: () => '/chat/completions',
    images: () => '/images/generations',
    embed: () => '/embeddings',
    count_tokens: undefined,
    compact: undefined,
  },
  anthropic: {
    content: () => '/messages',
    images: undefined,
    embed: undefined,
    count_tokens: () => '/messages/count_tokens',
    compact: undefined,
  },
  gemini: {
    content: (upstreamModel, framing) =>
      `/${resourcePath(upstreamModel)}:${generateMethod(framing)}`,
    images: (upstreamModel) => `/${resourcePath(upstreamModel)}:generateContent`,
    embed: (upstreamModel) => `/${resourcePath(upstreamModel)}:batchEmbedContents`,
    count_tokens: (upstreamModel) => `/${resourcePath(upstreamModel)}:countTokens`,
    compact: undefined,
  },
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
