/** Generators of replies with reasoning, whole and streamed, as each upstream may send them. */
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import type { Reply } from '../loop.ts';

/** Text with characters that are easily lost, and not blank. */
const text = fc
  .oneof(fc.string({ maxLength: 8 }), fc.string({ unit: 'binary', maxLength: 8 }))
  .map((some) => `${some}\u2028\ud83d.`);
const data = fc.base64String({ minLength: 8, maxLength: 24 });
const args = fc.dictionary(fc.string({ maxLength: 3 }), text, { maxKeys: 2 });
const name = fc.constantFrom('look', 'find');
const maxParts = 6;

/** A block of Anthropic's, in which no text follows the last call. */
type Block =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly name: string; readonly input: JsonObject };

const thinking = fc.record({
  type: fc.constant('thinking' as const),
  // The newest models sign thinking that they don't show.
  thinking: fc.oneof(text, fc.constant('')),
  signature: data,
});
const block: fc.Arbitrary<Block> = fc.oneof(
  thinking,
  fc.record({ type: fc.constant('redacted_thinking' as const), data }),
  fc.record({ type: fc.constant('text' as const), text }),
  fc.record({ type: fc.constant('tool_use' as const), name, input: args }),
);

/** Replies with thinking and calls in any order, as with interleaved thinking. */
export const anthropicReply: fc.Arbitrary<Reply> = fc
  .tuple(fc.array(block, { minLength: 1, maxLength: maxParts }), fc.boolean(), fc.uuid())
  .map(([blocks, streamed, id]) => {
    const lastCall = blocks.findLastIndex(({ type }) => type === 'tool_use');
    const content = blocks
      .filter(({ type }, index) => lastCall === -1 || index < lastCall || type !== 'text')
      .map((one, index) =>
        one.type === 'tool_use' ? { ...one, id: `toolu_${id}_${index}` } : one,
      );
    const stop = lastCall === -1 ? 'end_turn' : 'tool_use';
    return streamed ? anthropicStream(content, stop) : anthropicWhole(content, stop);
  });

const anthropicUsage = { input_tokens: 7, output_tokens: 5 };

function anthropicWhole(content: readonly JsonObject[], stop: string): Reply {
  const message = { type: 'message', id: 'msg_1', role: 'assistant', model: 'claude' };
  const reply = { ...message, content, stop_reason: stop, usage: anthropicUsage };
  return { streamed: false, documents: [reply] };
}

function anthropicStream(content: readonly JsonObject[], stop: string): Reply {
  const documents: JsonValue[] = content.flatMap((one, index): readonly JsonObject[] => {
    const at = (type: string, more: JsonObject): JsonObject => ({ type, index, ...more });
    const delta = (more: JsonObject): JsonObject => at('content_block_delta', { delta: more });
    const { thinking: thought, signature, text: words, input, ...rest } = one;
    const empty = {
      ...(thought === undefined ? {} : { thinking: '', signature: '' }),
      ...(words === undefined ? {} : { text: '' }),
      ...(input === undefined ? {} : { input: {} }),
    };
    return [
      at('content_block_start', { content_block: { ...rest, ...empty } }),
      ...pieces(thought).map((piece) => delta({ type: 'thinking_delta', thinking: piece })),
      ...(signature === undefined ? [] : [delta({ type: 'signature_delta', signature })]),
      ...pieces(words).map((piece) => delta({ type: 'text_delta', text: piece })),
      ...pieces(input === undefined ? undefined : JSON.stringify(input)).map((piece) =>
        delta({ type: 'input_json_delta', partial_json: piece }),
      ),
      at('content_block_stop', {}),
    ];
  });
  const message = {
    id: 'msg_1',
    type: 'message',
    model: 'claude',
    content: [],
    usage: anthropicUsage,
  };
  return {
    streamed: true,
    documents: [
      { type: 'message_start', message },
      ...documents,
      { type: 'message_delta', delta: { stop_reason: stop }, usage: anthropicUsage },
      { type: 'message_stop' },
    ],
  };
}

/** A text in two pieces; none of a text that is absent or empty. */
function pieces(whole: JsonValue | undefined): readonly string[] {
  if (typeof whole !== 'string' || whole === '') return [];
  const middle = Math.floor(whole.length / 2);
  return [whole.slice(0, middle), whole.slice(middle)].filter((piece) => piece !== '');
}

const signature = fc.option(data, { nil: undefined });
const signed = (part: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> =>
  fc
    .tuple(part, signature)
    .map(
      ([one, thoughtSignature]): JsonObject =>
        thoughtSignature === undefined ? one : { ...one, thoughtSignature },
    );
const geminiPart: fc.Arbitrary<JsonObject> = fc.oneof(
  signed(fc.record({ text })),
  signed(fc.record({ text, thought: fc.constant(true) })),
  signed(fc.record({ functionCall: fc.record({ name, args }) })),
  fc.record({ text: fc.constant(''), thoughtSignature: data }),
);

/** Replies with signatures on any part, among them parallel calls and empty texts. */
export const geminiReply: fc.Arbitrary<Reply> = fc
  .tuple(fc.array(geminiPart, { minLength: 1, maxLength: maxParts }), fc.boolean())
  .map(([made, streamed]) => {
    // No two signatures of a provider are the same.
    const parts = made.map((part, index) =>
      'thoughtSignature' in part
        ? { ...part, thoughtSignature: `${part.thoughtSignature}${`${index}`.padStart(4, '0')}` }
        : part,
    );
    const document = (some: readonly JsonObject[], finish: JsonObject): JsonValue => ({
      responseId: 'r1',
      candidates: [{ index: 0, content: { role: 'model', parts: some }, ...finish }],
      usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 5, totalTokenCount: 12 },
    });
    const end = { finishReason: 'STOP' };
    if (!streamed) return { streamed, documents: [document(parts, end)] };
    const chunks = parts.map((part) => document([part], {}));
    return { streamed, documents: [...chunks, document([], end)] };
  });

/** Replies with the reasoning that a compatible server expects back unsigned. */
export const reasoningContentReply: fc.Arbitrary<Reply> = fc
  .record({
    reasoning: text,
    content: fc.option(text, { nil: undefined }),
    calls: fc.array(fc.record({ name, args }), { maxLength: 3 }),
    id: fc.uuid(),
    streamed: fc.boolean(),
  })
  .map(({ reasoning, content, calls, id, streamed }) => {
    const finish = calls.length === 0 ? 'stop' : 'tool_calls';
    const toolCalls = calls.map((call, index) => ({
      index,
      id: `${id}${index}`,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.args) },
    }));
    const choice = (more: JsonObject): JsonValue => ({
      id: 'chatcmpl-1',
      model: 'deepseek-chat',
      choices: [{ index: 0, ...more }],
    });
    if (!streamed) {
      const spoken = { role: 'assistant', reasoning_content: reasoning, content: content ?? null };
      const message = { ...spoken, tool_calls: toolCalls };
      return { streamed, documents: [choice({ message, finish_reason: finish })] };
    }
    const deltas: readonly JsonObject[] = [
      ...pieces(reasoning).map((piece) => ({ reasoning_content: piece })),
      ...pieces(content).map((piece) => ({ content: piece })),
      ...toolCalls.map((call) => ({ tool_calls: [call] })),
    ];
    const documents = deltas.map((delta) => choice({ delta }));
    return { streamed, documents: [...documents, choice({ delta: {}, finish_reason: finish })] };
  });

/** Replies with reasoning of Anthropic or OpenAI in the form of OpenRouter. */
export const reasoningDetailsReply: fc.Arbitrary<Reply> = fc
  .record({
    reasoning: text,
    signature: data,
    encrypted: fc.option(data, { nil: undefined }),
    content: text,
    call: fc.option(fc.record({ name, args }), { nil: undefined }),
    id: fc.uuid(),
  })
  .map(({ reasoning, signature: signedBy, encrypted, content, call, id }) => {
    const signed = { type: 'reasoning.text', text: reasoning, signature: signedBy };
    const other = { type: 'reasoning.encrypted', data: encrypted ?? '', id: 'rs_1', index: 1 };
    const details = [
      { ...signed, format: 'anthropic-claude-v1' },
      ...(encrypted === undefined ? [] : [{ ...other, format: 'openai-responses-v1' }]),
    ];
    const called = { name: call?.name ?? '', arguments: JSON.stringify(call?.args ?? {}) };
    const toolCalls = call === undefined ? [] : [{ id, type: 'function', function: called }];
    const message = { reasoning, content, reasoning_details: details, tool_calls: toolCalls };
    const finish = call === undefined ? 'stop' : 'tool_calls';
    const choice = { index: 0, message, finish_reason: finish };
    return { streamed: false, documents: [{ id: 'gen-1', model: 'm', choices: [choice] }] };
  });
