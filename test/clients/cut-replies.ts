/** Replies that reached the output limit or that a filter ended, in the format of each upstream. */
import type { JsonObject } from '../../src/json.ts';
import { type Script, script } from '../../src/testing/providers/scripts.ts';
import { claudeEvents, claudeText, named } from './claude-replies.ts';
import type { UpstreamName } from './upstreams.ts';

/** Upstreams with replies of their own; DeepSeek's are like those of chat completions. */
type ReplyForm = Exclude<UpstreamName, 'deepseek'>;

/** The text before the limit. */
export const cutText = 'It is 57';

/** A text that ends at the limit. */
export function cutReply(upstream: UpstreamName, streams: boolean): Script {
  const form = upstream === 'deepseek' ? 'chat' : upstream;
  return streams ? streamedTexts[form] : wholeTexts[form];
}

/** What ended a reply early. */
export type Cut = 'limit' | 'filter';

/** A streamed call whose arguments were cut. Google sends calls whole. */
export function cutCall(upstream: Exclude<UpstreamName, 'gemini'>, by: Cut): Script {
  return streamedCalls[upstream === 'deepseek' ? 'chat' : upstream](by);
}

const usage = {
  openai: { prompt_tokens: 12, completion_tokens: 4, total_tokens: 16 },
  responses: {
    input_tokens: 12,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 4,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 16,
  },
  gemini: { promptTokenCount: 12, candidatesTokenCount: 4, totalTokenCount: 16 },
} as const;

const responseHead = {
  id: 'resp_cut',
  object: 'response',
  created_at: 1_763_683_200,
  model: 'gpt-5.1',
  error: null,
  instructions: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: 1,
  top_p: 1,
  tool_choice: 'auto',
  tools: [],
} as const;
const started = {
  ...responseHead,
  status: 'in_progress',
  incomplete_details: null,
  output: [],
  usage: null,
};
const cutMessage = {
  id: 'msg_cut',
  type: 'message',
  status: 'incomplete',
  role: 'assistant',
  content: [{ type: 'output_text', text: cutText, annotations: [], logprobs: [] }],
};
const incomplete = (output: readonly JsonObject[], by: Cut = 'limit') => ({
  ...responseHead,
  status: 'incomplete',
  incomplete_details: { reason: by === 'limit' ? 'max_output_tokens' : 'content_filter' },
  output,
  usage: usage.responses,
});

const chatHead = { id: 'chatcmpl-cut', created: 1_763_683_200, model: 'gpt-4.1' } as const;
const geminiEnd = { finishReason: 'MAX_TOKENS', index: 0 } as const;
const geminiText = { content: { role: 'model', parts: [{ text: cutText }] } };
const claudeEnd = { stop_reason: 'max_tokens', stop_sequence: null } as const;
const claudeRefusal = {
  stop_reason: 'refusal',
  stop_sequence: null,
  stop_details: { type: 'refusal', explanation: 'Not this.' },
} as const;

const wholeTexts: Readonly<Record<ReplyForm, Script>> = {
  responses: script.json(200, incomplete([cutMessage])),
  chat: script.json(200, {
    ...chatHead,
    object: 'chat.completion',
    choices: [
      { index: 0, message: { role: 'assistant', content: cutText }, finish_reason: 'length' },
    ],
    usage: usage.openai,
  }),
  gemini: script.json(200, {
    candidates: [{ ...geminiText, ...geminiEnd }],
    usageMetadata: usage.gemini,
  }),
  anthropic: claudeText([{ type: 'text', text: cutText }], false, claudeEnd),
};

const streamedTexts: Readonly<Record<ReplyForm, Script>> = {
  responses: responseEvents([
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...cutMessage, status: 'in_progress', content: [] },
    },
    {
      type: 'response.content_part.added',
      item_id: 'msg_cut',
      output_index: 0,
      content_index: 0,
      part: { type: 'output_text', text: '', annotations: [], logprobs: [] },
    },
    {
      type: 'response.output_text.delta',
      item_id: 'msg_cut',
      output_index: 0,
      content_index: 0,
      delta: cutText,
      logprobs: [],
    },
    { type: 'response.output_item.done', output_index: 0, item: cutMessage },
    { type: 'response.incomplete', response: incomplete([cutMessage]) },
  ]),
  chat: script.sse([
    chatChunk({ role: 'assistant', content: cutText }, null),
    chatChunk({}, 'length'),
    { ...chatHead, object: 'chat.completion.chunk', choices: [], usage: usage.openai },
    '[DONE]',
  ]),
  gemini: script.sse(
    [{ candidates: [{ ...geminiText, ...geminiEnd }], usageMetadata: usage.gemini }],
    '\r\n',
  ),
  anthropic: claudeText([{ type: 'text', text: cutText }], true, claudeEnd),
};

const call = { id: 'fc_cut', type: 'function_call', call_id: 'call_cut', name: 'get_weather' };
const begunArguments = '{"city":"Par';

const streamedCalls: Readonly<Record<Exclude<ReplyForm, 'gemini'>, (by: Cut) => Script>> = {
  responses: (by) =>
    responseEvents([
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...call, arguments: '', status: 'in_progress' },
      },
      {
        type: 'response.function_call_arguments.delta',
        item_id: 'fc_cut',
        output_index: 0,
        delta: begunArguments,
      },
      { type: 'response.incomplete', response: incomplete([], by) },
    ]),
  chat: (by) =>
    script.sse([
      chatChunk(
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              index: 0,
              id: 'call_cut',
              type: 'function',
              function: { name: 'get_weather', arguments: begunArguments },
            },
          ],
        },
        null,
      ),
      chatChunk({}, by === 'limit' ? 'length' : 'content_filter'),
      { ...chatHead, object: 'chat.completion.chunk', choices: [], usage: usage.openai },
      '[DONE]',
    ]),
  anthropic: (by) =>
    claudeEvents(
      [
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'tool_use', id: 'toolu_cut', name: 'get_weather', input: {} },
        },
        {
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'input_json_delta', partial_json: begunArguments },
        },
        { type: 'content_block_stop', index: 0 },
      ],
      by === 'limit' ? claudeEnd : claudeRefusal,
    ),
};

function responseEvents(events: readonly JsonObject[]): Script {
  return named(
    [
      { type: 'response.created', response: started },
      { type: 'response.in_progress', response: started },
      ...events,
    ].map((event, sequence) => ({ ...event, sequence_number: sequence })),
  );
}

function chatChunk(delta: JsonObject, finishReason: string | null): JsonObject {
  return {
    ...chatHead,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  };
}
