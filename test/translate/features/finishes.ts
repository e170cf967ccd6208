/** How replies end, what they used, and replies that are of no use. */
import type { ContentEvent, ReplyUsage } from '../../../src/canonical/reply.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { calls, ends, says, thinks } from './parts.ts';
import { both, got, type ReplyRow, sent } from './reply-rows.ts';

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
  {
    is: 'a call that ends as other text does',
    events: [...call, ends('stop')],
    chat: got(chat({ tool_calls: [fn] }, 'tool_calls')),
    responses: got({ output: ['function_call f: {"a":1}'] }),
    messages: got(claude('tool_use', use)),
    gemini: got(gemini('STOP', run)),
  },
  {
    is: 'a call that ends with another reason',
    events: [...call, ends('tool_calls', { native: 'OTHER' })],
    gemini: sent(gemini('OTHER', run)),
  },
  {
    is: 'another end with its name',
    events: [says('a'), ends('other', { native: 'LANGUAGE', message: 'Because.' })],
    chat: got(chat({ content: 'a' }, 'stop', { native_finish_reason: 'LANGUAGE' }), {
      lost: ['finish_message'],
    }),
    responses: got({ output: ['message: a'] }, { lost: ['finish_message'] }),
    messages: got(claude('end_turn', t('a')), { lost: ['finish_message'] }),
    gemini: [
      sent({ ...gemini('LANGUAGE', { text: 'a' }), finishMessage: 'Because.' }),
      got({ ...gemini('OTHER', { text: 'a' }), finishMessage: 'Because.' }),
    ],
  },
  {
    is: 'a filter that explains',
    events: [says('First'), ends('content_filter', { native: 'SAFETY', message: 'Not that.' })],
    chat: got(
      chat({ content: 'First', refusal: 'Not that.' }, 'content_filter', {
        native_finish_reason: 'SAFETY',
      }),
    ),
    responses: got({ output: ['message: First', 'message: Not that.'] }),
    messages: got({ content: [t('First')], ...refusal('Not that.') }),
    gemini: got({ ...gemini('SAFETY', { text: 'First' }), finishMessage: 'Not that.' }),
  },
  {
    is: 'a filter after reasoning',
    events: [thinks('a'), ends('content_filter')],
    responses: got({ output: ['message: Reply blocked: content_filter'] }),
  },
  {
    is: 'a filter with a name',
    events: [ends('content_filter', { native: 'RECITATION' })],
    responses: got({ output: ['message: Reply blocked: RECITATION'] }),
    messages: got({ content: [], ...refusal('Reply blocked: RECITATION') }),
  },
  {
    is: 'an explanation of Anthropic',
    events: [says('a'), ends('content_filter', { message: 'Too rude.' })],
    messages: sent({ ...claude('refusal', t('a')), stop_details: { explanation: 'Too rude.' } }),
  },
  {
    is: 'an explanation of Google',
    events: [says('a'), ends('content_filter', { native: 'RECITATION', message: 'A song.' })],
    gemini: sent({ ...gemini('RECITATION', { text: 'a' }), finishMessage: 'A song.' }),
  },
  {
    is: 'an empty reply that a limit ended',
    events: [ends('length')],
    responses: got({ output: ['message: '], ...cut }),
    messages: both({ content: [], stop_reason: 'max_tokens' }),
    gemini: got(gemini('MAX_TOKENS', { text: '' })),
  },
  {
    is: 'an empty reply that a filter ended',
    events: [ends('content_filter')],
    chat: both(chat({}, 'content_filter')),
    gemini: got({ finishReason: 'SAFETY' }),
  },
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
  {
    is: 'a prompt that Google blocked',
    events: [{ type: 'blocked', reason: 'SAFETY', message: 'No.' }],
    gemini: sent({ promptFeedback: { blockReason: 'SAFETY', blockReasonMessage: 'No.' } }),
  },
  {
    is: 'one empty choice among two',
    events: [says('a'), ends('stop'), ends('other', { choice: 1 })],
    chat: sent(
      {
        choices: [
          { index: 0, message: { content: 'a' }, finish_reason: 'stop' },
          { index: 1, message: { content: '' }, finish_reason: null },
        ],
      },
      { isWhole: true },
    ),
  },
];

/** Replies that are of no use: the events after a text in the same reply, or none. */
export const unusables: readonly ReplyRow[] = [
  {
    is: 'nothing at all',
    events: [empty],
    chat: [
      ...[[], [{ index: 0 }], [{ index: 0, message: {}, finish_reason: 'stop' }].slice(1)].map(
        (choices) => sent({ choices }, { isWhole: true }),
      ),
      sent(chat({ content: null }, null), { isWhole: true }),
      sent(chat({ content: '' }, 'other'), { isWhole: true }),
    ],
    messages: [sent({}, { isWhole: true }), sent({ content: 'text' }, { isWhole: true })],
  },
  {
    is: 'an error as the finish',
    events: [unusable],
    chat: [
      sent(chat({ content: '' }, 'error'), { isWhole: true }),
      sent(chat({ tool_calls: [{ id: 'a' }] }, 'tool_calls'), { isWhole: true }),
    ],
    gemini: [
      'MALFORMED_FUNCTION_CALL',
      ...['MALFORMED_RESPONSE', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS'],
      'MISSING_THOUGHT_SIGNATURE',
    ].map((word) => sent(gemini(word))),
  },
  {
    is: 'an error as the finish after a text',
    events: [says('a'), unusable],
    chat: sent(chat({ content: 'a' }, 'error'), { isWhole: true }),
  },
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
const inChat = (usage: JsonObject) => chat({ content: 'a' }, 'stop', { usage });
const inClaude = (usage: JsonObject) => ({ ...claude('end_turn', t('a')), usage });
const inGemini = (usageMetadata: JsonObject) => ({
  ...gemini('STOP', { text: 'a' }),
  usageMetadata,
});

/** Usage. */
export const usages: readonly ReplyRow[] = [
  {
    is: 'the usage with cached and reasoning tokens',
    events: used({ inputTokens: 11, outputTokens: 7, cachedInputTokens: 3, reasoningTokens: 2 }),
    chat: both(
      inChat({
        ...{ prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
        prompt_tokens_details: { cached_tokens: 3 },
        completion_tokens_details: { reasoning_tokens: 2 },
      }),
    ),
    responses: got({
      output: ['message: a'],
      usage: {
        ...{ input_tokens: 11, output_tokens: 7, total_tokens: 18 },
        input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
        output_tokens_details: { reasoning_tokens: 2 },
      },
    }),
    messages: got(
      inClaude({
        ...{ input_tokens: 8, cache_creation_input_tokens: 0, cache_read_input_tokens: 3 },
        ...{ output_tokens: 7, output_tokens_details: { thinking_tokens: 2 } },
      }),
    ),
    gemini: both(
      inGemini({
        ...{ promptTokenCount: 11, candidatesTokenCount: 5, totalTokenCount: 18 },
        ...{ thoughtsTokenCount: 2, cachedContentTokenCount: 3 },
      }),
    ),
  },
  {
    is: 'the usage with tokens that were written to a cache',
    events: used({
      ...{ inputTokens: 11, outputTokens: 7, cachedInputTokens: 3 },
      ...{ cacheWriteTokens: 2, toolCalls: {} },
    }),
    messages: [
      got(
        inClaude({
          ...{ input_tokens: 6, cache_creation_input_tokens: 2, cache_read_input_tokens: 3 },
          output_tokens: 7,
        }),
      ),
      sent(
        inClaude({
          ...{ input_tokens: 6, cache_creation_input_tokens: 2, cache_read_input_tokens: 3 },
          output_tokens: 7,
        }),
      ),
    ],
  },
  {
    is: 'the usage with audio',
    events: used({ inputTokens: 20, outputTokens: 5, audioInputTokens: 3, audioOutputTokens: 4 }),
    chat: sent(
      inChat({
        ...{ prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 },
        prompt_tokens_details: { audio_tokens: 3 },
        completion_tokens_details: { audio_tokens: 4 },
      }),
    ),
  },
  {
    is: 'more reasoning than output',
    events: used({ inputTokens: 10, outputTokens: 10, reasoningTokens: 11 }),
    gemini: got(
      inGemini({
        ...{ promptTokenCount: 10, candidatesTokenCount: 0, totalTokenCount: 20 },
        thoughtsTokenCount: 10,
      }),
    ),
  },
  {
    is: 'no usage',
    events: [says('a'), ends('stop')],
    responses: got({ output: ['message: a'], usage: null }),
    gemini: sent(inGemini({ promptTokenCount: '5', candidatesTokenCount: -3 })),
  },
  {
    is: 'usage of a reply that is of no use',
    events: [empty, counts({ inputTokens: 3, outputTokens: 4 })],
    chat: sent(
      { choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } },
      { isWhole: true },
    ),
  },
];
