/**
 * The paths of each operation below an upstream's base URL. A catalog is checked by this table
 * alone, without loading the wire formats.
 */
import type { Framing, OperationName } from '../apis.ts';
import type { DialectName } from '../ports/models/capabilities.ts';
import { resourcePath } from './gemini/resource.ts';

/** Path and query below the channel's base URL. */
export type UpstreamPath = (upstreamModel: string, framing: Framing) => string;

/** An operation that is missing is one that the provider does not have. */
export type UpstreamPaths = Readonly<Partial<Record<OperationName, UpstreamPath>>>;

export const upstreamPaths: Readonly<Record<DialectName, UpstreamPaths>> = {
  openai: {
    content: () => '/chat/completions',
    images: () => '/images/generations',
    embed: () => '/embeddings',
  },
  anthropic: {
    content: () => '/messages',
    count_tokens: () => '/messages/count_tokens',
  },
  gemini: {
    content: (upstreamModel, framing) =>
      `/${resourcePath(upstreamModel)}:${generateMethod(framing)}`,
    images: (upstreamModel) => `/${resourcePath(upstreamModel)}:generateContent`,
    embed: (upstreamModel) => `/${resourcePath(upstreamModel)}:batchEmbedContents`,
    count_tokens: (upstreamModel) => `/${resourcePath(upstreamModel)}:countTokens`,
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
