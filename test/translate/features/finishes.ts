/** How replies end, what they used, and replies that are of no use. */

import type { ContentEvent, ReplyUsage } from '../../../src/canonical/reply.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { calls, ends, says, thinks } from './parts.ts';
import { both, got, type ReplyRow, sent } from './reply-rows.ts';
import { replyRow } from './wire-text.ts';

const t = (text: string) => ({ type: 'text', text });
const chat = (message: JsonObject, finish_reason: JsonValue, more: JsonObject = {}) => ({
  ...{ message, finish_reason, ...more },
});
const claude = (stop_reason: JsonValue, ...content: readonly JsonObject[]) => ({
  ...{ content, stop_reason },
});
const gemini = (finishReason: string, ...parts: readonly JsonObject[]) => ({ parts, finishReason });
const fn = { id: 'c0', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
const use = { type: 'tool_use', id: 'c0', name: 'f', input: { a: 1 } };
const run = { functionCall: { id: 'c0', name: 'f', args: { a: 1 } } };
const call = calls('f', '{"a":1}');
const refusal = (explanation: string | null) => ({
  ...{ stop_reason: 'refusal', stop_details: { type: 'refusal', category: null, explanation } },
});
const cut = { status: 'incomplete', why: 'max_output_tokens' };
const filtered = { status: 'incomplete', why: 'content_filter' };
const unusable: ContentEvent = { type: 'unusable', reason: 'upstream_unusable_output' };
const empty: ContentEvent = { type: 'unusable', reason: 'upstream_empty_response' };

/** Finishes after a text: on chat, in Messages and on Gemini. */
const afterText: readonly (readonly [
  finish: ContentEvent,
  chat: readonly JsonValue[],
  claude: readonly JsonValue[],
  gemini: readonly string[],
])[] = [
  [
    ends('stop'),
    ['stop', 'eos', 'end_turn', 'tool_calls', null, ''],
    ['end_turn', 'stop_sequence', 'tool_use', null],
    ['STOP'],
  ],
  [ends('length'), ['length', 'model_length'], ['max_tokens'], ['MAX_TOKENS']],
  [
    ends('length', { native: 'model_context_window_exceeded' }),
    [],
    ['model_context_window_exceeded'],
    [],
  ],
  [ends('length', { native: 'CONTINUATION' }), [], [], ['CONTINUATION']],
  [ends('content_filter'), ['content_filter', 'sensitive'], ['refusal'], ['SAFETY']],
  [ends('content_filter', { native: 'SPII' }), [], [], ['SPII']],
  ...['pause_turn', 'compaction', 'something_new'].map(
    (native) => [ends('other', { native }), [], [native], []] as const,
  ),
  [
    ends('other', { native: 'insufficient_system_resource' }),
    ['insufficient_system_resource'],
    [],
    [],
  ],
  [ends('other', { native: 'LANGUAGE' }), [], [], ['LANGUAGE']],
];

/** Ends. */
export const finishes: readonly ReplyRow[] = [
  ...afterText.map(
    ([finish, ofChat, ofClaude, ofGemini]): ReplyRow => ({
      is: `the end ${JSON.stringify(finish)}`,
      events: [says('a'), finish],
      chat: ofChat.map((word) => sent(chat({ content: 'a' }, word))),
      messages: ofClaude.map((word) => sent(claude(word, t('a')))),
      gemini: ofGemini.map((word) => sent(gemini(word, { text: 'a' }))),
    }),
  ),
  ...(
    [
      ['stop', 'stop', 'end_turn', 'STOP', {}],
      ['tool_calls', 'stop', 'end_turn', 'STOP', {}],
      ['length', 'length', 'max_tokens', 'MAX_TOKENS', cut],
      ['content_filter', 'content_filter', 'refusal', 'SAFETY', filtered],
      ['other', 'stop', 'end_turn', 'OTHER', {}],
    ] as const
  ).map(
    ([reason, ofChat, ofClaude, ofGemini, ofResponses]): ReplyRow => ({
      is: `a text that ends with ${reason}`,
      events: [says('a'), ends(reason)],
      chat: got(chat({ content: 'a' }, ofChat)),
      responses: got({ output: ['message: a'], ...ofResponses }),
      messages: got({
        content: [t('a')],
        ...(ofClaude === 'refusal' ? refusal(null) : { stop_reason: ofClaude }),
      }),
      gemini: got(gemini(ofGemini, { text: 'a' })),
    }),
  ),
  ...(
    [
      [
        'tool_calls',
        ['tool_calls', 'stop', null, 'function_call'],
        ['tool_use', 'end_turn'],
        'STOP',
      ],
      ['length', ['length'], ['max_tokens'], 'MAX_TOKENS'],
      ['content_filter', ['content_filter'], ['refusal'], 'SAFETY'],
    ] as const
  ).map(
    ([reason, ofChat, ofClaude, ofGemini]): ReplyRow => ({
      is: `a call that ends with ${reason}`,
      events: [...call, ends(reason)],
      chat: [
        got(chat({ tool_calls: [fn] }, ofChat[0])),
        ...ofChat.map((word) => sent(chat({ tool_calls: [fn] }, word))),
      ],
      messages: [
        got({
          content: [use],
          ...(reason === 'content_filter' ? refusal(null) : { stop_reason: ofClaude[0] }),
        }),
        ...ofClaude.map((word) =>
          // The limit may have cut the arguments, so their end is left open.
          sent(
            claude(word, use),
            reason === 'tool_calls'
              ? {}
              : { events: [...calls('f', '{"a":1'), ends(reason)], isWhole: true },
          ),
        ),
      ],
      gemini: both(gemini(ofGemini, run)),
    }),
  ),
  replyRow('a call that ends as other text does', [...call, ends('stop')])`
    chat > {message:{tool_calls:[{id:"c0",type:"function",function:{name:"f",
      arguments:"{\"a\":1}"}}]},finish_reason:"tool_calls"}
    responses > {output:["function_call f: {\"a\":1}"]}
    messages > {content:[{type:"tool_use",id:"c0",name:"f",input:{a:1}}],stop_reason:"tool_use"}
    gemini > {parts:[{functionCall:{id:"c0",name:"f",args:{a:1}}}],finishReason:"STOP"}
  `,
  replyRow('a call that ends with another reason', [
    ...call,
    ends('tool_calls', { native: 'OTHER' }),
  ])`
    gemini < {parts:[{functionCall:{id:"c0",name:"f",args:{a:1}}}],finishReason:"OTHER"}
  `,
  replyRow('another end with its name', [
    says('a'),
    ends('other', { native: 'LANGUAGE', message: 'Because.' }),
  ])`
    chat > {message:{content:"a"},finish_reason:"stop",native_finish_reason:"LANGUAGE"}
      | lost finish_message
    responses > {output:["message: a"]} | lost finish_message
    messages > {content:[{type:"text",text:"a"}],stop_reason:"end_turn"} | lost finish_message
    gemini < {parts:[{text:"a"}],finishReason:"LANGUAGE",finishMessage:"Because."}
    gemini > {parts:[{text:"a"}],finishReason:"OTHER",finishMessage:"Because."}
  `,
  replyRow('a filter that explains', [
    says('First'),
    ends('content_filter', { native: 'SAFETY', message: 'Not that.' }),
  ])`
    chat > {message:{content:"First",refusal:"Not that."},finish_reason:"content_filter",
      native_finish_reason:"SAFETY"}
    responses > {output:["message: First","message: Not that."]}
    messages > {content:[{type:"text",text:"First"}],stop_reason:"refusal",stop_details:
      {type:"refusal",category:null,explanation:"Not that."}}
    gemini > {parts:[{text:"First"}],finishReason:"SAFETY",finishMessage:"Not that."}
  `,
  replyRow('a filter after reasoning', [thinks('a'), ends('content_filter')])`
    responses > {output:["message: Reply blocked: content_filter"]}
  `,
  replyRow('a filter with a name', [ends('content_filter', { native: 'RECITATION' })])`
    responses > {output:["message: Reply blocked: RECITATION"]}
    messages > {content:[],stop_reason:"refusal",stop_details:{type:"refusal",category:null,
      explanation:"Reply blocked: RECITATION"}}
  `,
  replyRow('an explanation of Anthropic', [
    says('a'),
    ends('content_filter', { message: 'Too rude.' }),
  ])`
    messages < {content:[{type:"text",text:"a"}],stop_reason:"refusal",stop_details:
      {explanation:"Too rude."}}
  `,
  replyRow('an explanation of Google', [
    says('a'),
    ends('content_filter', { native: 'RECITATION', message: 'A song.' }),
  ])`
    gemini < {parts:[{text:"a"}],finishReason:"RECITATION",finishMessage:"A song."}
  `,
  replyRow('an empty reply that a limit ended', [ends('length')])`
    responses > {output:["message: "],status:"incomplete",why:"max_output_tokens"}
    messages <> {content:[],stop_reason:"max_tokens"}
    gemini > {parts:[{text:""}],finishReason:"MAX_TOKENS"}
  `,
  replyRow('an empty reply that a filter ended', [ends('content_filter')])`
    chat <> {message:{},finish_reason:"content_filter"}
    gemini > {finishReason:"SAFETY"}
  `,
  ...(
    [
      ['SAFETY', 'SAFETY'],
      ['prohibited_content', 'PROHIBITED_CONTENT'],
      ['content_filter', 'SAFETY'],
      ['SOMETHING_NEW', 'OTHER'],
    ] as const
  ).map(
    ([reason, blockReason]): ReplyRow => ({
      is: `a prompt that was blocked: ${reason}`,
      events: [{ type: 'blocked', reason, message: 'No.' }],
      chat: got({
        ...chat({ refusal: `Prompt blocked: ${reason}. No.` }, 'content_filter'),
        usage: {
          ...{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
        },
      }),
      responses: got({ output: [`message: Prompt blocked: ${reason}. No.`] }),
      messages: got({ content: [], ...refusal(`Prompt blocked: ${reason}. No.`) }),
      gemini: got({ promptFeedback: { blockReason, blockReasonMessage: 'No.' } }),
    }),
  ),
  replyRow('a prompt that Google blocked', [{ type: 'blocked', reason: 'SAFETY', message: 'No.' }])`
    gemini < {promptFeedback:{blockReason:"SAFETY",blockReasonMessage:"No."}}
  `,
  replyRow('one empty choice among two', [says('a'), ends('stop'), ends('other', { choice: 1 })])`
    chat < {choices:[{index:0,message:{content:"a"},finish_reason:"stop"},{index:1,message:
      {content:""},finish_reason:null}]} | whole
  `,
];

/** Replies that are of no use: the events after a text in the same reply, or none. */
export const unusables: readonly ReplyRow[] = [
  replyRow('nothing at all', [empty])`
    chat < {choices:[]} | whole
    chat < {choices:[{index:0}]} | whole
    chat < {choices:[]} | whole
    chat < {message:{content:null},finish_reason:null} | whole
    chat < {message:{content:""},finish_reason:"other"} | whole
    messages < {} | whole
    messages < {content:"text"} | whole
  `,
  replyRow('an error as the finish', [unusable])`
    chat < {message:{content:""},finish_reason:"error"} | whole
    chat < {message:{tool_calls:[{id:"a"}]},finish_reason:"tool_calls"} | whole
    gemini < {parts:[],finishReason:"MALFORMED_FUNCTION_CALL"}
    gemini < {parts:[],finishReason:"MALFORMED_RESPONSE"}
    gemini < {parts:[],finishReason:"UNEXPECTED_TOOL_CALL"}
    gemini < {parts:[],finishReason:"TOO_MANY_TOOL_CALLS"}
    gemini < {parts:[],finishReason:"MISSING_THOUGHT_SIGNATURE"}
  `,
  replyRow('an error as the finish after a text', [says('a'), unusable])`
    chat < {message:{content:"a"},finish_reason:"error"} | whole
  `,
];

const counts = (members: Partial<ReplyUsage>): ContentEvent => ({
  type: 'usage',
  usage: {
    ...{ inputTokens: 0, outputTokens: 0, cachedInputTokens: undefined },
    ...{ cacheWriteTokens: undefined, reasoningTokens: undefined },
    ...{ audioInputTokens: undefined, audioOutputTokens: undefined },
    ...members,
  },
});
const used = (members: Partial<ReplyUsage>) => [says('a'), ends('stop'), counts(members)];

/** Usage. */
export const usages: readonly ReplyRow[] = [
  replyRow(
    'the usage with cached and reasoning tokens',
    used({ inputTokens: 11, outputTokens: 7, cachedInputTokens: 3, reasoningTokens: 2 }),
  )`
    chat <> {message:{content:"a"},finish_reason:"stop",usage:{prompt_tokens:11,completion_tokens:7,
      total_tokens:18,prompt_tokens_details:{cached_tokens:3},completion_tokens_details:
      {reasoning_tokens:2}}}
    responses > {output:["message: a"],usage:{input_tokens:11,output_tokens:7,total_tokens:18,
      input_tokens_details:{cached_tokens:3,cache_write_tokens:0},output_tokens_details:
      {reasoning_tokens:2}}}
    messages > {content:[{type:"text",text:"a"}],stop_reason:"end_turn",usage:{input_tokens:8,
      cache_creation_input_tokens:0,cache_read_input_tokens:3,output_tokens:7,output_tokens_details:
      {thinking_tokens:2}}}
    gemini <> {parts:[{text:"a"}],finishReason:"STOP",usageMetadata:{promptTokenCount:11,
      candidatesTokenCount:5,totalTokenCount:18,thoughtsTokenCount:2,cachedContentTokenCount:3}}
  `,
  replyRow(
    'the usage with tokens that were written to a cache',
    used({
      ...{ inputTokens: 11, outputTokens: 7, cachedInputTokens: 3 },
      ...{ cacheWriteTokens: 2, toolCalls: {} },
    }),
  )`
    messages > {content:[{type:"text",text:"a"}],stop_reason:"end_turn",usage:{input_tokens:6,
      cache_creation_input_tokens:2,cache_read_input_tokens:3,output_tokens:7}}
    messages < {content:[{type:"text",text:"a"}],stop_reason:"end_turn",usage:{input_tokens:6,
      cache_creation_input_tokens:2,cache_read_input_tokens:3,output_tokens:7}}
  `,
  replyRow(
    'the usage with audio',
    used({ inputTokens: 20, outputTokens: 5, audioInputTokens: 3, audioOutputTokens: 4 }),
  )`
    chat < {message:{content:"a"},finish_reason:"stop",usage:{prompt_tokens:20,completion_tokens:5,
      total_tokens:25,prompt_tokens_details:{audio_tokens:3},completion_tokens_details:
      {audio_tokens:4}}}
  `,
  replyRow(
    'more reasoning than output',
    used({ inputTokens: 10, outputTokens: 10, reasoningTokens: 11 }),
  )`
    gemini > {parts:[{text:"a"}],finishReason:"STOP",usageMetadata:{promptTokenCount:10,
      candidatesTokenCount:0,totalTokenCount:20,thoughtsTokenCount:10}}
  `,
  replyRow('no usage', [says('a'), ends('stop')])`
    responses > {output:["message: a"],usage:null}
    gemini < {parts:[{text:"a"}],finishReason:"STOP",usageMetadata:{promptTokenCount:"5",
      candidatesTokenCount:-3}}
  `,
  replyRow('usage of a reply that is of no use', [
    empty,
    counts({ inputTokens: 3, outputTokens: 4 }),
  ])`
    chat < {choices:[],usage:{prompt_tokens:3,completion_tokens:4}} | whole
  `,
];
