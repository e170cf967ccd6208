/**
 * The paths of each API and what they ask for. A catalog is checked by this table alone, without
 * loading how the APIs are read.
 */
import { type Framing, type Operation, operations } from '../call.ts';
import type { ProtocolName } from '../ports/catalog.ts';

const { content, images, embed, count_tokens, compact } = operations;

export interface ApiCalls {
  /** The operation that an upstream must have to serve this API. */
  readonly operation: Operation;
  /** The paths to which calls are POSTed, each with the operation that it requests. */
  readonly paths: Readonly<Record<string, Operation>>;
  /** The methods that may follow a model's name: `/v1beta/models/{model}:generateContent`. */
  readonly methods: Readonly<Record<string, PathMethod>>;
}

export interface PathMethod {
  readonly operation: Operation;
  /** Further APIs whose models have the method too. */
  readonly alsoFor?: readonly ProtocolName[];
  framing(search: string): Framing;
}

const asJson = (): Framing => 'json';

/** Rows that share their name with another: one API for catalogs, in another shape for callers. */
export type FurtherRow = 'embedContent' | 'batchEmbedContents';

export const apiCalls: Readonly<Record<ProtocolName | FurtherRow, ApiCalls>> = {
  chat: { operation: content, paths: { '/v1/chat/completions': content }, methods: {} },
  images: { operation: images, paths: { '/v1/images/generations': images }, methods: {} },
  responses: {
    operation: content,
    paths: {
      '/v1/responses': content,
      '/v1/responses/input_tokens': count_tokens,
      '/v1/responses/compact': compact,
    },
    methods: {},
  },
  messages: {
    operation: content,
    paths: { '/v1/messages': content, '/v1/messages/count_tokens': count_tokens },
    methods: {},
  },
  embeddings: { operation: embed, paths: { '/v1/embeddings': embed }, methods: {} },
  native: {
    operation: content,
    paths: {},
    methods: {
      generateContent: { operation: content, framing: asJson },
      streamGenerateContent: {
        operation: content,
        framing: (search) =>
          new URLSearchParams(search).get('alt') === 'sse' ? 'sse' : 'json_array',
      },
      countTokens: { operation: count_tokens, alsoFor: ['embeddings'], framing: asJson },
    },
  },
  embedContent: {
    operation: embed,
    paths: {},
    methods: { embedContent: { operation: embed, framing: asJson } },
  },
  batchEmbedContents: {
    operation: embed,
    paths: {},
    methods: { batchEmbedContents: { operation: embed, framing: asJson } },
  },
};
