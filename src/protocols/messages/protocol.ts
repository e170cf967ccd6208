/** `POST /v1/messages` and `/v1/messages/count_tokens`: Anthropic's Messages API. */
import { operations } from '../../call.ts';
import { pingEvent } from '../../dialects/anthropic/stream-events.ts';
import { anthropicCaller } from '../callers/anthropic.ts';
import type { Protocol } from '../protocol.ts';
import { checkMessagesHeaders } from './headers.ts';
import { readMessages } from './read.ts';
import { messagesRelay } from './relay.ts';
import { messagesSession } from './session.ts';

/** The row of `table.ts`. */
export const messages: Protocol = {
  name: 'messages',
  caller: anthropicCaller,
  dialect: 'anthropic',
  relayCapability: undefined,
  operation: operations.content,
  paths: {
    '/v1/messages': operations.content,
    '/v1/messages/count_tokens': operations.count_tokens,
  },
  methods: {},
  maxBodyBytes: ({ maxBodyBytes }) => maxBodyBytes,
  repeatableAs: 'messages',
  toolBound: 'max_uses',
  // The API has no member for several answers.
  outputLimits: ['max_tokens'],
  candidates: { member: 'n', maximum: 1 },
  sessionOf: messagesSession,
  checkHeaders: checkMessagesHeaders,
  read: readMessages,
  relay: messagesRelay,
  codecs: async () => ({
    content: (await import('../../dialects/anthropic/server/codec.ts')).anthropicServer,
    countTokens: { member: 'input_tokens', write: (count) => `{"input_tokens":${count}}` },
  }),
  imageCounter: undefined,
  // Anthropic sends such events too.
  keepAlive: (framing) => (framing === 'sse' ? pingEvent : undefined),
};
