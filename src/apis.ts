/**
 * The APIs that callers use: their operations, their paths, and which path asks for what. One table
 * for routes, adapters and the checks of a catalog, so it imports nothing.
 */

/** All APIs. `apiCalls` and `protocols/table.ts` need a row for each; the compiler checks it. */
export const protocolNames = [
  'chat',
  'images',
  'native',
  'responses',
  'messages',
  'embeddings',
] as const;

type ApiName = (typeof protocolNames)[number];

/** `json_array` is Gemini's array that is written element by element. */
export type Framing = 'json' | 'sse' | 'json_array';

export type OperationName = 'content' | 'images' | 'embed' | 'count_tokens' | 'compact';

export interface Operation {
  readonly name: OperationName;
  /** No quota is held or charged. */
  readonly isFree: boolean;
  /**
   * Billed when sent: it is sent at most once, on a new connection, and is completed and charged
   * even if its caller disconnects.
   */
  readonly isBoughtOnce: boolean;
  /** It may be sent again after a failure at any point, even in the middle of its reply. */
  readonly isRepeatable: boolean;
  readonly makesImages: boolean;
  /** The reply has content that is counted in tokens where the upstream reports no usage. */
  readonly hasOutputTokens: boolean;
  /** Media in the request are refused where the model's price has no rate for their kind. */
  readonly needsMediaRates: boolean;
  /** The column of the charge policy that applies. */
  readonly chargedAs: Readonly<Record<Framing, 'whole' | 'streamed' | 'image'>>;
  /** The kind of reply within which the times to the first byte are compared. */
  readonly waitsAs: Readonly<Record<Framing, 'whole' | 'streamed' | 'image' | 'count'>>;
}

const byFraming = { json: 'whole', sse: 'streamed', json_array: 'streamed' } as const;
const asImage = { json: 'image', sse: 'image', json_array: 'image' } as const;
const asCount = { json: 'count', sse: 'count', json_array: 'count' } as const;

export const operations: Readonly<Record<OperationName, Operation>> = {
  content: operation('content'),
  images: operation('images', {
    isBoughtOnce: true,
    makesImages: true,
    chargedAs: asImage,
    waitsAs: asImage,
  }),
  // Vectors of texts. Nothing is changed upstream, so a call may be sent again after any failure.
  embed: operation('embed', { isRepeatable: true, hasOutputTokens: false, needsMediaRates: true }),
  count_tokens: operation('count_tokens', { isFree: true, waitsAs: asCount }),
  // Shortens a conversation, for Responses; only its own provider can read the result.
  compact: operation('compact'),
};

/** One literal for all: operations of different shapes would slow down every call. */
function operation(
  name: OperationName,
  {
    isFree = false,
    isBoughtOnce = false,
    isRepeatable = false,
    makesImages = false,
    hasOutputTokens = true,
    needsMediaRates = false,
    chargedAs = byFraming,
    waitsAs = byFraming,
  }: Partial<Omit<Operation, 'name'>> = {},
): Operation {
  return {
    name,
    isFree,
    isBoughtOnce,
    isRepeatable,
    makesImages,
    hasOutputTokens,
    needsMediaRates,
    chargedAs,
    waitsAs,
  };
}

const { content, images, embed, count_tokens, compact } = operations;

export interface ApiCalls {
  /** The operation that an upstream must have to serve this API. */
  readonly operation: Operation;
  /** The paths to which calls are POSTed, each with the operation that it requests. */
  readonly paths: Readonly<Record<string, Operation>>;
  /** The methods that may follow a model's name: `/v1beta/models/{model}:generateContent`. */
  readonly methods: Readonly<Record<string, PathMethod>>;
  /**
   * The members, besides the model, of a request that costs as little as possible. Absent where
   * that is still much, or where the path names the model.
   */
  readonly shortest?: object;
}

export interface PathMethod {
  readonly operation: Operation;
  /** Further APIs whose models have the method too. */
  readonly alsoFor?: readonly ApiName[];
  framing(search: string): Framing;
}

const messages = [{ role: 'user', content: 'Answer with: ok' }];
const asJson = (): Framing => 'json';

/** Rows that share their name with another: one API for catalogs, in another shape for callers. */
export type FurtherRow = 'embedContent' | 'batchEmbedContents';

export const apiCalls: Readonly<Record<ApiName | FurtherRow, ApiCalls>> = {
  chat: {
    operation: content,
    paths: { '/v1/chat/completions': content },
    methods: {},
    shortest: { messages, max_tokens: 64 },
  },
  images: { operation: images, paths: { '/v1/images/generations': images }, methods: {} },
  messages: {
    operation: content,
    paths: { '/v1/messages': content, '/v1/messages/count_tokens': count_tokens },
    methods: {},
    shortest: { messages, max_tokens: 64 },
  },
  responses: {
    operation: content,
    paths: {
      '/v1/responses': content,
      '/v1/responses/input_tokens': count_tokens,
      '/v1/responses/compact': compact,
    },
    methods: {},
    shortest: { input: 'Answer with: ok', max_output_tokens: 64 },
  },
  embeddings: {
    operation: embed,
    paths: { '/v1/embeddings': embed },
    methods: {},
    shortest: { input: 'ok' },
  },
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
