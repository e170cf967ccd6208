/** `POST /v1/embeddings`: OpenAI's embeddings. */
import { operations } from '../../call.ts';
import { openaiCaller } from '../callers/openai.ts';
import type { Protocol } from '../protocol.ts';
import { readEmbeddings } from './read.ts';
import { embeddingsRelay } from './relay.ts';

/** The row of `table.ts`. */
export const embeddings: Protocol = {
  name: 'embeddings',
  caller: openaiCaller,
  dialect: 'openai',
  relayCapability: undefined,
  operation: operations.embed,
  paths: { '/v1/embeddings': operations.embed },
  methods: {},
  maxBodyBytes: ({ maxBodyBytes }) => maxBodyBytes,
  repeatableAs: 'embeddings',
  // The API has no member for several answers.
  outputLimits: [],
  candidates: { member: 'n', maximum: 1 },
  read: readEmbeddings,
  relay: embeddingsRelay,
  codecs: async () => ({
    embeddings: (await import('../../dialects/openai/embedding-server.ts')).openaiEmbeddingServer,
  }),
  imageCounter: undefined,
  keepAlive: () => undefined,
};
