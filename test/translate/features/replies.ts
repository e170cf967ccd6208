/** Texts, reasoning, calls and other contents of replies. */
import { seal } from '../../../src/canonical/envelope.ts';
import {
  callEnvelope,
  reasoningEnvelope,
  textEnvelope,
  unsignedEnvelope,
} from '../../../src/canonical/reasoning-envelopes.ts';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { calls, ends, refuses, says, signedBy, thinks } from './parts.ts';
import { both, got, type ReplyRow, sent } from './reply-rows.ts';

const stop = ends('stop');
const t = (text: string) => ({ type: 'text', text });
const hi = (...more: readonly ContentEvent[]) => [...more, says('Yes.'), stop];
const shown = { asks: { thinking: { type: 'adaptive', display: 'summarized' } } };
const omitted = { asks: { thinking: { type: 'adaptive', display: 'omitted' } } };
const summary = { asks: { reasoning: { summary: 'auto' } } };
const anthropic = signedBy('anthropic', 'c2ln');
const hidden = signedBy('anthropic', 'aGlk', 'encrypted');
const google = signedBy('gemini', 'c2ln');
const chat = (message: JsonObject, finish_reason: JsonValue = 'stop') => ({
  message,
  finish_reason,
});
const claude = (...content: readonly JsonObject[]) => ({ content, stop_reason: 'end_turn' });
const using = (...content: readonly JsonObject[]) => ({ content, stop_reason: 'tool_use' });
const gemini = (...parts: readonly JsonObject[]) => ({ parts, finishReason: 'STOP' });
const fn = (id: string, name: string, json: string, more: JsonObject = {}): JsonObject => ({
  ...{ id, type: 'function', function: { name, arguments: json } },
  ...more,
});
const tools = (...tool_calls: readonly JsonObject[]) =>
  chat({ content: null, tool_calls }, 'tool_calls');
const use = (id: string, name: string, input: JsonObject = {}) => ({
  ...{ type: 'tool_use', id, name, input },
});
const run = (id: string, name: string, args: JsonObject = {}, more: JsonObject = {}) => ({
  functionCall: { id, name, args },
  ...more,
});
const called = [...calls('f', '{"a":1}'), ends('tool_calls')];
const details = (...reasoning_details: readonly JsonObject[]) => ({ reasoning_details });
const format = 'anthropic-claude-v1';
const thinking = (words: string, signature: string) => ({
  type: 'thinking',
  thinking: words,
  signature,
});
const ofText = textEnvelope(google.providerData) ?? '';
const [signedBegin] = calls('f', '{"a":1}', 0, google);
const ofCall = signedBegin?.type === 'tool_begin' ? (callEnvelope(signedBegin) ?? '') : '';
const image = (data: string): ContentEvent => ({
  type: 'media',
  choice: 0,
  mimeType: 'image/png',
  data,
});
const audio = (data: string): ContentEvent => ({
  ...{ type: 'media', choice: 0, mimeType: 'audio/L16;rate=24000', data },
});
const png = 'iVBORw0KGgo=';
const citation = { url: 'https://a.test', title: 'A', start: 0, end: 1 };
const own = (
  provider: string,
  name: string,
  value: JsonObject | readonly JsonObject[],
): ContentEvent => ({
  ...{ type: 'provider_specific', choice: 0, provider, name, value },
});

/** Texts. */
export const texts: readonly ReplyRow[] = [
  {
    is: 'a text',
    events: [says('Hello there\n '), stop],
    chat: [
      both(chat({ content: 'Hello there\n ' })),
      sent({ choices: [{ message: { content: 'Hello there\n ' }, finish_reason: 'stop' }] }),
    ],
    responses: got({ output: ['message: Hello there\n '] }),
    messages: both(claude(t('Hello there\n '))),
    gemini: both(gemini({ text: 'Hello there\n ' })),
  },
  {
    is: 'a text in pieces',
    events: [says('a\n'), says(''), says(' b😀'), stop],
    chat: got(chat({ content: 'a\n b😀' })),
    responses: got({ output: ['message: a\n b😀'] }),
    messages: got(claude(t('a\n b😀'))),
    gemini: got(gemini({ text: 'a\n b😀' })),
  },
  {
    is: 'the id and the model of the upstream',
    events: [{ type: 'start', id: 'abc', model: 'up' }, says('a'), stop],
    chat: got(chat({ content: 'a' }), { top: { id: 'chatcmpl-abc' } }),
    gemini: got(gemini({ text: 'a' }), { top: { modelVersion: 'up', responseId: 'abc' } }),
  },
  { is: 'no events', events: [], chat: got(chat({}, 'stop')) },
  {
    is: 'nothing',
    events: [stop],
    chat: got(chat({})),
    responses: got({ output: ['message: '] }),
    messages: both(claude()),
    gemini: got(gemini({ text: '' })),
  },
  {
    is: 'a text whose end the upstream does not state',
    events: [says('a')],
    chat: got(chat({ content: 'a' })),
    responses: got({ output: ['message: a'] }),
    messages: got(claude(t('a'))),
    gemini: got({ parts: [{ text: 'a' }], finishReason: 'OTHER' }),
  },
  {
    is: 'a refusal',
    events: [refuses('I won’t.'), ends('content_filter', { native: 'stop', message: 'I won’t.' })],
    chat: [
      sent(chat({ refusal: 'I won’t.' }), { isWhole: true }),
      got({
        ...chat({ refusal: 'I won’t.' }, 'content_filter'),
        native_finish_reason: 'stop',
      }),
    ],
    responses: got({ output: ['message: I won’t.'] }),
    messages: got({
      ...{ content: [t('I won’t.')], stop_reason: 'refusal' },
      stop_details: { type: 'refusal', category: null, explanation: 'I won’t.' },
    }),
    gemini: got({
      parts: [{ text: 'I won’t.' }],
      finishReason: 'SAFETY',
      finishMessage: 'I won’t.',
    }),
  },
  {
    is: 'a refusal after a text',
    events: [says('a'), refuses('No'), refuses('.'), stop],
    chat: got(chat({ content: 'a', refusal: 'No.' })),
    responses: got({ output: ['message: a', 'message: No.'] }),
    messages: got({
      ...{ content: [t('a'), t('No.')], stop_reason: 'refusal' },
      stop_details: { type: 'refusal', category: null, explanation: 'No.' },
    }),
    gemini: got({ parts: [{ text: 'aNo.' }], finishReason: 'SAFETY', finishMessage: 'No.' }),
  },
  {
    is: 'a refusal that the limit cut',
    events: [refuses('I can'), ends('length')],
    chat: both(chat({ refusal: 'I can' }, 'length')),
    responses: got({ output: ['message: I can'], status: 'incomplete', why: 'max_output_tokens' }),
    messages: got({ content: [t('I can')], stop_reason: 'max_tokens' }),
  },
  {
    is: 'two choices',
    events: [
      says('a'),
      { ...says('b'), choice: 1 } as ContentEvent,
      stop,
      ends('length', { choice: 1 }),
    ],
    chat: both({
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'a', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
        {
          index: 1,
          message: { role: 'assistant', content: 'b', refusal: null },
          logprobs: null,
          finish_reason: 'length',
        },
      ],
    }),
    responses: got({ output: ['message: a'] }),
    gemini: both({
      candidates: [
        { index: 0, content: { role: 'model', parts: [{ text: 'a' }] }, finishReason: 'STOP' },
        {
          index: 1,
          content: { role: 'model', parts: [{ text: 'b' }] },
          finishReason: 'MAX_TOKENS',
        },
      ],
    }),
  },
];

/** Reasoning and signatures. */
export const reasoning: readonly ReplyRow[] = [
  {
    is: 'reasoning that nobody signed',
    events: hi(thinks('Hm.')),
    chat: [
      both(chat({ reasoning_content: 'Hm.', content: 'Yes.' })),
      sent(chat({ reasoning: 'Hm.', content: 'Yes.' })),
      sent(chat({ content: [{ type: 'thinking', thinking: [t('Hm.')] }, t('Yes.')] })),
    ],
    responses: [
      got({ output: ['message: Yes.'] }),
      got({ output: ['reasoning: Hm.', 'message: Yes.'] }, summary),
      got(
        { output: ['reasoning:  +thinking:', 'message: Yes.'] },
        { head: { needsReasoningBack: true } },
      ),
    ],
    messages: [
      got(claude(thinking('Hm.', unsignedEnvelope()), t('Yes.')), shown),
      got(claude(thinking('', unsignedEnvelope()), t('Yes.')), omitted),
      got(claude(thinking('', unsignedEnvelope('Hm.')), t('Yes.')), {
        ...omitted,
        head: { needsReasoningBack: true },
      }),
      got(claude(thinking('Hm.', unsignedEnvelope()), t('Yes.')), {
        ...shown,
        head: { needsReasoningBack: true },
      }),
      got(claude(t('Yes.'))),
    ],
    gemini: both(gemini({ text: 'Hm.', thought: true }, { text: 'Yes.' })),
  },
  {
    is: 'reasoning that Anthropic signed',
    events: hi(thinks('Hm.'), thinks('', anthropic)),
    chat: [
      got(
        chat({
          ...{ content: 'Yes.', reasoning_content: 'Hm.' },
          ...details({ type: 'reasoning.text', text: 'Hm.', signature: 'c2ln', format }),
        }),
      ),
    ],
    responses: [
      got({ output: ['reasoning:  +thinking:c2ln', 'message: Yes.'] }),
      got({ output: ['reasoning: Hm. +thinking:c2ln', 'message: Yes.'] }, summary),
    ],
    messages: [
      sent(claude(thinking('Hm.', 'c2ln'), t('Yes.'))),
      got(
        claude(thinking('Hm.', reasoningEnvelope(undefined, anthropic.providerData)), t('Yes.')),
        shown,
      ),
    ],
    gemini: got(
      gemini(
        { text: 'Hm.', thought: true, thoughtSignature: seal(anthropic.providerData) },
        { text: 'Yes.' },
      ),
    ),
  },
  {
    is: 'a signature without text',
    events: hi(thinks('', anthropic)),
    responses: got({ output: ['reasoning:  +thinking:c2ln', 'message: Yes.'] }),
    messages: sent(claude(thinking('', 'c2ln'), t('Yes.'))),
  },
  {
    is: 'encrypted reasoning',
    events: hi(thinks('', hidden)),
    chat: both(
      chat({ content: 'Yes.', ...details({ type: 'reasoning.encrypted', data: 'aGlk', format }) }),
    ),
    responses: got({ output: ['reasoning:  +redacted:aGlk', 'message: Yes.'] }),
    messages: [
      sent(claude({ type: 'redacted_thinking', data: 'aGlk' }, t('Yes.'))),
      got(
        claude(
          { type: 'redacted_thinking', data: reasoningEnvelope('', hidden.providerData) },
          t('Yes.'),
        ),
        shown,
      ),
    ],
    gemini: got(
      gemini(
        { text: '', thought: true, thoughtSignature: seal(hidden.providerData) },
        { text: 'Yes.' },
      ),
    ),
  },
  {
    is: 'plain and encrypted reasoning',
    events: hi(thinks('Plain.'), thinks('', hidden)),
    responses: [
      got({ output: ['reasoning:  +redacted:aGlk', 'message: Yes.'] }),
      got(
        { output: ['reasoning: Plain.', 'reasoning:  +redacted:aGlk', 'message: Yes.'] },
        summary,
      ),
    ],
  },
  {
    is: 'reasoning alone',
    events: [thinks('Hm.'), thinks('', anthropic), stop],
    responses: got({ output: ['reasoning: Hm. +thinking:c2ln', 'message: '] }, summary),
  },
  {
    is: 'reasoning between calls',
    events: [
      ...[thinks('A'), thinks('', anthropic), ...calls('f', '{}')],
      ...[thinks('B'), thinks('', anthropic), ends('tool_calls')],
    ],
    responses: [
      got({
        output: ['reasoning:  +thinking:c2ln', 'function_call f: {}', 'reasoning:  +thinking:c2ln'],
      }),
      got(
        {
          output: [
            'reasoning: A +thinking:c2ln',
            ...['function_call f: {}', 'reasoning: B +thinking:c2ln'],
          ],
        },
        summary,
      ),
    ],
  },
  {
    is: 'a text that Google signed',
    events: [says('One.', google), says('Two.'), stop],
    chat: got(
      chat({ content: 'One.Two.', extra_content: { google: { thought_signature: 'c2ln' } } }),
    ),
    responses: got({ output: ['message: One.', 'reasoning:  +text:c2ln', 'message: Two.'] }),
    messages: [
      got(claude(t('One.'), thinking('', ofText), t('Two.')), shown),
      got(claude(t('One.Two.')), { isWhole: true }),
    ],
    gemini: both(gemini({ text: 'One.', thoughtSignature: 'c2ln' }, { text: 'Two.' })),
  },
  {
    is: 'a call that Google signed',
    events: [thinks('Hm.'), ...calls('f', '{"a":1}', 0, google), ends('tool_calls')],
    chat: both({
      ...tools(
        fn('c0', 'f', '{"a":1}', { extra_content: { google: { thought_signature: 'c2ln' } } }),
      ),
      message: {
        ...{ reasoning_content: 'Hm.', content: null },
        tool_calls: [
          fn('c0', 'f', '{"a":1}', { extra_content: { google: { thought_signature: 'c2ln' } } }),
        ],
      },
    }),
    responses: [
      got({ output: ['reasoning:  +call:c2ln', 'function_call f: {"a":1}'] }),
      got({ output: ['reasoning: Hm. +call:c2ln', 'function_call f: {"a":1}'] }, summary),
    ],
    messages: [
      got(
        using(thinking('Hm.', unsignedEnvelope()), thinking('', ofCall), use('c0', 'f', { a: 1 })),
        shown,
      ),
      got(using(thinking('', ofCall), use('c0', 'f', { a: 1 }))),
      got(
        using(
          thinking('', unsignedEnvelope('Hm.')),
          thinking('', ofCall),
          use('c0', 'f', { a: 1 }),
        ),
        {
          head: { needsReasoningBack: true },
        },
      ),
    ],
    gemini: both(
      gemini(
        { text: 'Hm.', thought: true },
        run('c0', 'f', { a: 1 }, { thoughtSignature: 'c2ln' }),
      ),
    ),
  },
  {
    is: 'a call that another provider signed',
    events: [...calls('f', '{}', 0, anthropic), ends('tool_calls')],
    chat: got(tools(fn('c0', 'f', '{}'))),
  },
];

/** Calls. */
export const callReplies: readonly ReplyRow[] = [
  {
    is: 'a call',
    events: called,
    chat: [
      both(tools(fn('c0', 'f', '{"a":1}'))),
      sent(chat({ tool_calls: [fn('c0', 'f', '{"a":1}')] }, '')),
      sent(chat({ function_call: { name: 'f', arguments: '{"a":1}' } }, 'function_call'), {
        events: [
          {
            ...{ type: 'tool_begin', choice: 0, call: 0, name: 'f', arguments: '{"a":1}' },
            id: 'call_',
          },
          ...called.slice(1),
        ],
        isWhole: true,
      }),
      sent(
        chat({ tool_calls: [{ id: 'c0', function: { name: 'f', arguments: { a: 1 } } }] }, null),
        { isWhole: true },
      ),
    ],
    responses: [
      got({ output: ['function_call f: {"a":1}'] }),
      got(
        { output: ['function_call clock.f: {"a":1}'] },
        {
          asks: {
            tools: [{ type: 'namespace', name: 'clock', tools: [{ type: 'function', name: 'f' }] }],
          },
        },
      ),
    ],
    messages: both(using(use('c0', 'f', { a: 1 }))),
    gemini: both(gemini(run('c0', 'f', { a: 1 }))),
  },
  {
    is: 'two calls after a text, one of them without arguments',
    events: [says('Both.'), ...calls('f', '{"a":1}'), ...calls('g', '', 1), ends('tool_calls')],
    chat: got(
      chat(
        { content: 'Both.', tool_calls: [fn('c0', 'f', '{"a":1}'), fn('c1', 'g', '{}')] },
        'tool_calls',
      ),
    ),
    responses: got({
      output: ['message: Both.', 'function_call f: {"a":1}', 'function_call g: {}'],
    }),
    messages: got(using(t('Both.'), use('c0', 'f', { a: 1 }), use('c1', 'g'))),
    gemini: [
      got(gemini({ text: 'Both.' }, run('c0', 'f', { a: 1 }), run('c1', 'g'))),
      sent(
        gemini({ text: 'Both.' }, run('c0', 'f', { a: 1 }), {
          functionCall: { id: 'c1', name: 'g' },
        }),
      ),
    ],
  },
  {
    is: 'two calls with one id',
    events: [
      ...calls('f', '{}'),
      { ...{ type: 'tool_begin', choice: 0, call: 1, name: 'f', arguments: '{}' }, id: 'call_' },
      { type: 'tool_end', choice: 0, call: 1 },
      ends('tool_calls'),
    ],
    chat: [
      sent(tools(fn('c0', 'f', '{}'), fn('c0', 'f', '{}'))),
      sent(tools(fn('c0', 'f', '{}'), fn('', 'f', '{}'))),
    ],
    messages: [
      sent(using(use('c0', 'f'), use('c0', 'f')), { isWhole: true }),
      sent(using(use('c0', 'f'), use('', 'f')), { isWhole: true }),
    ],
    gemini: [
      sent(gemini(run('c0', 'f'), run('c0', 'f'))),
      sent(gemini(run('c0', 'f'), { functionCall: { name: 'f', args: {} } })),
    ],
  },
  {
    is: 'arguments that are no object',
    events: [...calls('f', '[1]'), ...calls('g', 'Paris', 1), ends('tool_calls')],
    responses: got({ output: ['function_call f: [1]', 'function_call g: Paris'] }),
    messages: got(using(use('c0', 'f', { _raw: '[1]' }), use('c1', 'g', { _raw: 'Paris' })), {
      lost: ['tool_use.input'],
    }),
    gemini: got(gemini(run('c0', 'f', { _raw: '[1]' }), run('c1', 'g', { _raw: 'Paris' })), {
      lost: ['tool_calls.arguments'],
    }),
  },
  {
    is: 'arguments with a number of 20 digits',
    events: [...calls('f', '{"n":12345678901234567890}'), ends('tool_calls')],
    chat: both(tools(fn('c0', 'f', '{"n":12345678901234567890}')), { isWhole: true }),
    responses: got({ output: ['function_call f: {"n":12345678901234567890}'] }),
    messages: got(using(use('c0', 'f', JSON.parse('{"n":12345678901234567890}')))),
    gemini: got(gemini(run('c0', 'f', JSON.parse('{"n":12345678901234567890}')))),
  },
  {
    is: 'a call of a custom tool',
    events: [...calls('patch', '{"input":"a\\nb"}'), ends('tool_calls')],
    responses: got(
      { output: ['custom_tool_call patch: a\nb'] },
      { asks: { tools: [{ type: 'custom', name: 'patch' }] } },
    ),
  },
  ...['plain text', '{"input":1}'].map(
    (json): ReplyRow => ({
      is: `a call of a custom tool with ${json}`,
      events: [...calls('patch', json), ends('tool_calls')],
      responses: got(
        { output: [`custom_tool_call patch: ${json}`] },
        { asks: { tools: [{ type: 'custom', name: 'patch' }] } },
      ),
    }),
  ),
  {
    is: 'an id that not all providers accept',
    events: [
      { ...{ type: 'tool_begin', choice: 0, call: 0, name: 'f', arguments: '{}' }, id: 'f.f:0' },
      { type: 'tool_end', choice: 0, call: 0 },
      ends('tool_calls'),
    ],
    messages: got(using(use('~^[a-zA-Z0-9_-]{1,64}$', 'f'))),
  },
];

/** Media and other contents. */
export const contents: readonly ReplyRow[] = [
  {
    is: 'an image',
    events: [image(png), stop],
    chat: [
      got(
        chat({
          images: [
            { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` }, index: 0 },
          ],
        }),
      ),
      sent(
        chat({
          images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }],
        }),
      ),
    ],
    responses: got({ output: [`image_generation_call: ${png}`] }),
    messages: got(claude(), { lost: ['content.image'] }),
    gemini: [
      both(gemini({ inlineData: { mimeType: 'image/png', data: png } })),
      sent(
        gemini(
          { inlineData: { mimeType: 'image/png', data: 'AAAA' }, thought: true },
          { inlineData: { mimeType: 'image/png', data: png } },
        ),
      ),
    ],
  },
  {
    is: 'an image by its URL',
    events: [says('a'), { type: 'media_url', choice: 0, url: 'https://a.test/a.png' }, stop],
    chat: sent(
      chat({
        content: 'a',
        images: [{ type: 'image_url', image_url: { url: 'https://a.test/a.png' } }],
      }),
    ),
    responses: got({ output: ['message: a'] }, { lost: ['images'] }),
    messages: got(claude(t('a')), { lost: ['content.image'] }),
  },
  {
    is: 'audio in two pieces',
    events: [says('a'), audio('AQ=='), audio('Ag=='), stop],
    chat: got(
      chat({
        content: 'a',
        audio: {
          id: 'audio-chatcmpl-fallback',
          data: 'AQI=',
          mime_type: 'audio/L16;rate=24000',
          expires_at: 1_795_177_645,
          transcript: '',
        },
      }),
      { isWhole: true },
    ),
    responses: got({ output: ['message: a'] }, { lost: ['audio'] }),
    messages: got(claude(t('a')), { lost: ['content.audio'] }),
  },
  {
    is: 'audio with its transcript',
    events: [
      says('Listen'),
      { type: 'media', choice: 0, mimeType: 'audio/wav', data: 'UklGRiQAAABXQVZF' },
      stop,
    ],
    chat: sent(chat({ audio: { data: 'UklGRiQAAABXQVZF', transcript: 'Listen' } }), {
      isWhole: true,
    }),
  },
  {
    is: 'a source of the text',
    events: [says('Look'), { type: 'citations', choice: 0, citations: [citation] }, stop],
    chat: [
      both(
        chat({
          content: 'Look',
          annotations: [
            {
              type: 'url_citation',
              url_citation: { start_index: 0, end_index: 1, url: 'https://a.test', title: 'A' },
            },
          ],
        }),
      ),
    ],
    responses: got({ output: ['message: Look'] }),
    messages: got(claude(t('Look')), { lost: ['citations'] }),
    gemini: got(
      {
        ...gemini({ text: 'Look' }),
        citationMetadata: { citationSources: [{ uri: 'https://a.test', title: 'A' }] },
      },
      { lost: ['annotations.start_index'] },
    ),
  },
  {
    is: 'log probabilities',
    events: [
      says('é'),
      {
        ...{ type: 'logprobs', choice: 0 },
        tokens: [{ token: 'é', logprob: -0.5, top: [{ token: 'e', logprob: -1 }] }],
      },
      stop,
    ],
    chat: [
      both({
        ...chat({ content: 'é' }),
        logprobs: {
          content: [
            {
              ...{ token: 'é', logprob: -0.5, bytes: [195, 169] },
              top_logprobs: [{ token: 'e', logprob: -1, bytes: [101] }],
            },
          ],
          refusal: null,
        },
      }),
      sent({
        ...chat({ content: 'é' }),
        logprobs: {
          content: [
            { token: 'é', logprob: -0.5, top_logprobs: [{ token: 'e', logprob: -1 }, 7] },
            { token: 'lost' },
          ],
        },
      }),
    ],
    responses: got({ output: ['message: é'] }),
    messages: got(claude(t('é')), { lost: ['logprobs'] }),
    gemini: both({
      ...gemini({ text: 'é' }),
      avgLogprobs: -0.5,
      logprobsResult: {
        chosenCandidates: [{ token: 'é', logProbability: -0.5 }],
        topCandidates: [{ candidates: [{ token: 'e', logProbability: -1 }] }],
      },
    }),
  },
  {
    is: 'data of Google',
    events: [says('a'), own('gemini', 'grounding_metadata', { webSearchQueries: [] }), stop],
    chat: got(
      chat({
        content: 'a',
        extra_content: { google: { grounding_metadata: { webSearchQueries: [] } } },
      }),
    ),
    responses: got({ output: ['message: a'] }, { lost: ['grounding_metadata'] }),
    messages: got(claude(t('a')), { lost: ['grounding_metadata'] }),
    gemini: sent({ ...gemini({ text: 'a' }), groundingMetadata: { webSearchQueries: [] } }),
  },
  {
    is: 'blocks of Anthropic',
    events: [
      says('a'),
      own('anthropic', 'blocks', [{ n: 1 }]),
      own('anthropic', 'blocks', [{ n: 2 }]),
      stop,
    ],
    chat: got(
      chat({ content: 'a', extra_content: { anthropic: { blocks: [{ n: 1 }, { n: 2 }] } } }),
    ),
    gemini: got(gemini({ text: 'a' }), { lost: ['blocks'] }),
  },
];
