/**
 * `POST /v1beta/models/{model}:embedContent` and `:batchEmbedContents`: Gemini's embeddings. They
 * are two rows of the table, because requests and replies differ, and one API for catalogs.
 */
import { operations } from '../../call.ts';
import { geminiCaller } from '../callers/gemini.ts';
import type { Protocol } from '../protocol.ts';
import { readBatchEmbedContents, readEmbedContent } from './read.ts';
import { batchEmbedContentsRelay, embedContentRelay } from './relay.ts';

const shared: Omit<Protocol, 'methods' | 'read' | 'relay' | 'codecs'> = {
  name: 'embeddings',
  caller: geminiCaller,
  dialect: 'gemini',
  relayCapability: undefined,
  operation: operations.embed,
  paths: {},
  maxBodyBytes: ({ maxBodyBytes }) => maxBodyBytes,
  // Google's clients don't send this header.
  repeatableAs: undefined,
  // The API has no member for several answers.
  outputLimits: [],
  candidates: { member: 'candidateCount', maximum: 1 },
  imageCounter: undefined,
  keepAlive: () => undefined,
};

const embeddingServers = () => import('../../dialects/gemini/embedding-server.ts');

/** The row of `:embedContent`. */
export const embedContent: Protocol = {
  ...shared,
  methods: { embedContent: { operation: operations.embed, framing: () => 'json' } },
  read: readEmbedContent,
  relay: embedContentRelay,
  codecs: async () => ({ embeddings: (await embeddingServers()).geminiEmbeddingServer }),
};

/** The row of `:batchEmbedContents`. */
export const batchEmbedContents: Protocol = {
  ...shared,
  methods: { batchEmbedContents: { operation: operations.embed, framing: () => 'json' } },
  read: readBatchEmbedContents,
  relay: batchEmbedContentsRelay,
  codecs: async () => ({ embeddings: (await embeddingServers()).geminiBatchEmbeddingServer }),
};
