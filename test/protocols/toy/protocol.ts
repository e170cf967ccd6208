/**
 * A minimal API that proves that a further one is only a folder and a row. `POST /toy/ask` with the
 * key in `x-toy-key` takes `{"model":"m","ask":["hi"],"most":9}`; the reply is
 * `{"says":"…","spent":[in,out]}`, that of the toy dialect, to which it is relayed. An error is
 * `{"oops":"…"}`.
 */
import { operations } from '../../../src/apis.ts';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import { promptTally, sizeOf } from '../../../src/dialects/measure/prompt-size.ts';
import { openaiServer } from '../../../src/dialects/openai/server/codec.ts';
import { documentTap } from '../../../src/dialects/taps/document-tap.ts';
import { items, type JsonValue, member } from '../../../src/json.ts';
import type { Usage } from '../../../src/money.ts';
import type { ProtocolName } from '../../../src/ports/models/catalog.ts';
import { headerOnce } from '../../../src/protocols/callers/key-header.ts';
import { arrayMember, fieldOf } from '../../../src/protocols/fields.ts';
import type { Caller, Protocol } from '../../../src/protocols/protocol.ts';

/** A real protocol adds its name to `ProtocolName`, which the toy must not, so its name is cast. */
export const toyName: ProtocolName = JSON.parse('"toy"');

const toyCaller: Caller = {
  name: 'toy',
  errors: { body: ({ message }) => Buffer.from(JSON.stringify({ oops: message })) },
  keyHeaders: () => ['x-toy-key'],
  secretOf: (request) => headerOnce(request, 'x-toy-key'),
  keyExample: () => 'x-toy-key: <key>',
  models: {
    request: 'GET /toy/models',
    list: (models) => ({ models: models.map(({ id }) => id) }),
    one: ({ id }) => ({ id }),
  },
  rateHeaders: undefined,
};

/** The row that the test adds to the table. */
export const toyProtocol: Protocol = {
  name: toyName,
  caller: toyCaller,
  dialect: 'toy',
  operation: operations.content,
  paths: { '/toy/ask': operations.content },
  methods: {},
  maxBodyBytes: () => 1_024,
  takesIdempotencyKey: false,
  outputLimits: ['most'],
  candidates: { member: 'times', maximum: 1 },
  read: (tape) => {
    arrayMember(tape, 'ask', 'Send what is asked.');
    return {
      protocol: toyName,
      operation: operations.content,
      modelId: String(fieldOf(tape, 'model')),
      isModelInPath: false,
      framing: 'json',
      body: tape.body,
      tape,
      promptCacheKey: undefined,
      wantsUsage: true,
      demand: {
        prompt: sizeOf(promptTally(tape)),
        predictedBytes: 0,
        maxOutputTokens: Number(fieldOf(tape, 'most') ?? 100),
        candidates: Number(fieldOf(tape, 'times') ?? 1),
        size: undefined,
        quality: undefined,
        guarded: [],
      },
    };
  },
  relay: {
    edits: (_call, upstreamModel) => [{ name: 'model', value: JSON.stringify(upstreamModel) }],
    tap: () =>
      documentTap({
        usageMember: 'spent',
        readUsage: usageOf,
        inBandFailure: () => undefined,
        isImageReply: false,
      }),
    invalidReplyReason: (reply) =>
      typeof member(reply, 'says') === 'string' ? undefined : 'upstream_protocol_error',
    readUsage: (reply) => usageOf(member(reply, 'spent')),
  },
  codecs: async () => ({
    content: {
      begin: (body, requested) => {
        const messages = items(body.ask ?? null).map((content) => ({ role: 'user', content }));
        return {
          request: openaiServer.begin({ messages }, requested).request,
          writeReply: (events) => ({ text: JSON.stringify(written(events)), dropped: [] }),
          writeStream: () => ({ write: () => '', end: () => '', breakOff: () => [] }),
        };
      },
    },
  }),
};

function usageOf(spent: JsonValue | undefined): Usage | undefined {
  const [inputTokens, outputTokens] = items(spent ?? null).map(Number);
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  return { inputTokens, cachedInputTokens: 0, outputTokens, images: 0 };
}

function written(events: readonly ContentEvent[]): JsonValue {
  const message = events.map((event) => (event.type === 'text' ? event.text : '')).join('');
  const usage = events.find((event) => event.type === 'usage')?.usage;
  return { says: message, spent: [usage?.inputTokens ?? 0, usage?.outputTokens ?? 0] };
}
