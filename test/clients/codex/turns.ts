/** Streamed turns of a model that calls tools, signed as each upstream signs them. */
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { callSignature } from '../../../src/testing/providers/gemini-content.ts';
import { signatureOf } from '../../../src/testing/providers/provider.ts';
import { seal } from '../../../src/testing/providers/responses.ts';
import { streamed } from '../../../src/testing/providers/responses-events.ts';
import { type Script, script } from '../../../src/testing/providers/scripts.ts';
import type { UpstreamName } from '../upstreams.ts';

/** A call of a model. */
export interface ToolCall {
  readonly name: string;
  readonly args: JsonObject;
  /** A custom tool of Codex: a function with the argument `input` for all models but OpenAI's. */
  readonly isCustom?: true;
}

const thought = 'The user wants a greeting.';

/** What proves the reasoning of a turn, and has to come back. */
export function signatureIn(upstream: UpstreamName, calls: readonly ToolCall[]): JsonValue {
  const [first = { name: '', args: {} }] = calls;
  if (upstream === 'responses') return seal('rs_codex');
  if (upstream === 'gemini') return callSignature({ name: first.name, args: first.args });
  if (upstream === 'deepseek') return thought;
  return upstream === 'anthropic' ? signatureOf(thought) : '';
}

/** A turn that reasons and calls tools in parallel. */
export function callingTurn(upstream: UpstreamName, calls: readonly ToolCall[]): Script {
  return turns[upstream](calls, signatureIn(upstream, calls));
}

type Turn = (calls: readonly ToolCall[], signature: JsonValue) => Script;

const turns: Readonly<Record<UpstreamName, Turn>> = {
  responses: (calls, signature) =>
    streamed(
      {
        items: [
          { kind: 'reasoning', id: 'rs_codex', summary: [thought], sealed: String(signature) },
          ...calls.map(({ name, args }, index) => ({
            kind: 'function' as const,
            id: `fc_codex_${index}`,
            callId: `call_codex_${index}`,
            name,
            pieces: [JSON.stringify(args)],
          })),
        ],
        tokens: [82, 18],
      },
      { id: 'resp_codex', createdAtSeconds: 1_763_683_200, model: 'm', store: false, request: {} },
    ),
  chat: (calls) => chatTurn(calls, {}),
  deepseek: (calls) => chatTurn(calls, { reasoning_content: thought }),
  gemini: (calls, signature) => {
    const parts = calls.map(({ name, args }, index) => ({
      functionCall: { id: `codex_${index}`, name, args },
      ...(index === 0 ? { thoughtSignature: signature } : {}),
    }));
    return script.sse(
      [
        { candidates: [{ content: { role: 'model', parts: [{ text: thought, thought: true }] } }] },
        {
          candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
          usageMetadata: { promptTokenCount: 82, candidatesTokenCount: 18, totalTokenCount: 100 },
        },
      ],
      '\r\n',
    );
  },
  anthropic: (calls, signature) => {
    const block = (index: number, start: JsonObject, ...deltas: JsonObject[]): JsonObject[] => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ];
    const message = { id: 'msg_codex', type: 'message', role: 'assistant', model: 'm' };
    const usage = { input_tokens: 82, output_tokens: 1 };
    const events: readonly JsonObject[] = [
      { type: 'message_start', message: { ...message, content: [], usage } },
      ...block(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: thought },
        { type: 'signature_delta', signature },
      ),
      ...calls.flatMap(({ name, args }, index) =>
        block(
          index + 1,
          { type: 'tool_use', id: `toolu_codex_${index}`, name, input: {} },
          { type: 'input_json_delta', partial_json: JSON.stringify(args) },
        ),
      ),
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 18 } },
      { type: 'message_stop' },
    ];
    return {
      headers: { 'content-type': 'text/event-stream' },
      chunks: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
    };
  },
};

function chatTurn(calls: readonly ToolCall[], reasoning: JsonObject): Script {
  const head = { id: 'chatcmpl-codex', object: 'chat.completion.chunk', created: 1, model: 'm' };
  const tool_calls = calls.map((call, index) => ({
    index,
    id: `call_codex_${index}`,
    ...(call.isCustom === true && !('reasoning_content' in reasoning)
      ? { type: 'custom', custom: { name: call.name, input: call.args.input ?? '' } }
      : {
          type: 'function',
          function: { name: call.name, arguments: JSON.stringify(call.args) },
        }),
  }));
  return script.sse([
    {
      ...head,
      choices: [
        { index: 0, delta: { role: 'assistant', ...reasoning, tool_calls }, finish_reason: null },
      ],
    },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    {
      ...head,
      choices: [],
      usage: { prompt_tokens: 82, completion_tokens: 18, total_tokens: 100 },
    },
    '[DONE]',
  ]);
}
