/**
 * A minimal invented dialect, which proves that a fourth dialect needs only a folder and a table
 * entry. `POST /say` takes `{"lines":["user: hi"]}`; the reply is `{"says":"…","spent":[in,out]}`,
 * whole or in pieces, the last of which has the usage.
 */
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import type { ContentRequest, Part } from '../../../src/canonical/request.ts';
import type { ContentStreamReader } from '../../../src/dialects/codec.ts';
import type { Dialect } from '../../../src/dialects/dialect.ts';
import { promptTally, sizeOf } from '../../../src/dialects/measure/prompt-size.ts';
import { openaiCapabilities } from '../../../src/dialects/openai/dialect.ts';
import { serverSentEvents } from '../../../src/dialects/stream-format.ts';
import { GatewayError } from '../../../src/errors.ts';
import { items, type JsonValue, member } from '../../../src/json.ts';

/** The table entry that the test adds. */
export const toy: Dialect = {
  name: 'toy',
  capabilities: openaiCapabilities,
  paths: {
    content: () => '/say',
  },
  credential: (secret) => ({ 'x-toy-key': secret }),
  hosting: undefined,
  streams: serverSentEvents,
  readFailure: (status) => ({ ...noFault, status }),
  inBandFailure: (reply) => (member(reply, 'oops') === undefined ? undefined : noFault),
  codecs: async () => ({
    content: {
      begin: (request) => ({
        body: JSON.stringify({ lines: linesOf(request), stream: request.streamed }),
        dropped: request.temperature === undefined ? [] : [request.names.temperature],
        unread: () => [],
        readReply: (reply) => [...textIn(reply), ...endIn(reply)],
        readStream: reader,
      }),
    },
    images: undefined,
    embeddings: undefined,
    measure: (body) => sizeOf(promptTally(body)),
    tokenCounter: undefined,
  }),
};

const noFault = {
  status: 502,
  message: undefined,
  code: undefined,
  param: undefined,
  retryAfterMs: undefined,
  fault: undefined,
} as const;

function linesOf({ system, turns }: ContentRequest): readonly string[] {
  return [
    ...system.map(({ text }) => `system: ${text}`),
    ...turns.map(({ role, parts }) => `${role}: ${parts.map(textOf).join('')}`),
  ];
}

function textOf(part: Part): string {
  if (part.kind === 'text') return part.text;
  throw new GatewayError('not_portable', 'A toy only takes text.', { param: part.at });
}

function reader(): ContentStreamReader {
  let last: JsonValue = null;
  return {
    read: (piece) => {
      last = piece;
      return textIn(piece);
    },
    end: () => endIn(last),
    complete: () => member(last, 'spent') !== undefined,
  };
}

function textIn(reply: JsonValue): readonly ContentEvent[] {
  const text = member(reply, 'says');
  return typeof text === 'string' ? [{ type: 'text', choice: 0, text }] : [];
}

function endIn(reply: JsonValue): readonly ContentEvent[] {
  const [inputTokens, outputTokens] = items(member(reply, 'spent')).map(Number);
  const unsaid = {
    cachedInputTokens: undefined,
    cacheWriteTokens: undefined,
    reasoningTokens: undefined,
    audioInputTokens: undefined,
    audioOutputTokens: undefined,
  };
  return [
    { type: 'finish', choice: 0, reason: 'stop' },
    {
      type: 'usage',
      usage: { inputTokens: inputTokens ?? 0, outputTokens: outputTokens ?? 0, ...unsaid },
    },
  ];
}
