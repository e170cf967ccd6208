/** What a reply can hold, as each dialect says it, and how a caller notices that it is there. */
import type { JsonObject } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import type { ReceivedReply } from './received.ts';
import { anthropicReply, type Ending, geminiReply, openaiReply } from './upstream-replies.ts';

/** One row of the matrix. */
export interface ReplyFeature {
  readonly title: string;
  /** Absent if a dialect cannot express it. */
  readonly replies: Readonly<Partial<Record<DialectName, JsonObject>>>;
  /** Of a refusal by HTTP, where the reply is one. */
  readonly statuses?: Readonly<Partial<Record<DialectName, number>>>;
  /** How the stream ends; a row about an ending has no whole form. */
  readonly ending?: Ending;
  readonly isReceived: (received: ReceivedReply) => boolean;
}

const png = 'iVBORw0KGgo=';

const call = (id: string, name: string, city: string): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify({ city }) },
});
const functionCall = (id: string, name: string, city: string): JsonObject => ({
  functionCall: { id, name, args: { city } },
});
const toolUse = (id: string, name: string, city: string): JsonObject => ({
  type: 'tool_use',
  id,
  name,
  input: { city },
});
const text = { type: 'text', text: 'Hello.' };
const hello = { text: 'Hello.' };

const contents: readonly ReplyFeature[] = [
  {
    title: 'text',
    replies: {
      openai: openaiReply({ content: ' Hello\n' }),
      gemini: geminiReply([{ text: ' Hel' }, { text: 'lo\n' }]),
      anthropic: anthropicReply([{ type: 'text', text: ' Hello\n' }]),
    },
    isReceived: (received) => received.text === ' Hello\n' && /^stop$/i.test(received.finish),
  },
  {
    title: 'reasoning',
    replies: {
      openai: openaiReply({ reasoning_content: 'Hm.', content: 'Hello.' }),
      gemini: geminiReply([{ text: 'Hm.', thought: true }, hello]),
      anthropic: anthropicReply([{ type: 'thinking', thinking: 'Hm.', signature: 's' }, text]),
    },
    isReceived: (received) => received.thoughts === 'Hm.' && received.text === 'Hello.',
  },
  {
    title: 'a tool call',
    replies: {
      openai: openaiReply(
        { content: null, tool_calls: [call('call_1', 'weather', 'Rome')] },
        { finish_reason: 'tool_calls' },
      ),
      gemini: geminiReply([functionCall('call_1', 'weather', 'Rome')]),
      anthropic: anthropicReply([toolUse('call_1', 'weather', 'Rome')], {
        stop_reason: 'tool_use',
      }),
    },
    isReceived: ({ calls, finish }) =>
      JSON.stringify(calls) === '[{"id":"call_1","name":"weather","args":{"city":"Rome"}}]' &&
      ['tool_calls', 'STOP'].includes(finish),
  },
  {
    title: 'text and several tool calls',
    replies: {
      openai: openaiReply(
        {
          content: 'Hello.',
          tool_calls: [call('a', 'weather', 'Rome'), call('b', 'weather', 'Oslo')],
        },
        { finish_reason: 'tool_calls' },
      ),
      gemini: geminiReply([
        hello,
        functionCall('a', 'weather', 'Rome'),
        functionCall('b', 'weather', 'Oslo'),
      ]),
      anthropic: anthropicReply(
        [text, toolUse('a', 'weather', 'Rome'), toolUse('b', 'weather', 'Oslo')],
        { stop_reason: 'tool_use' },
      ),
    },
    isReceived: (received) =>
      received.text === 'Hello.' &&
      JSON.stringify(received.calls.map(({ args }) => args)) ===
        '[{"city":"Rome"},{"city":"Oslo"}]' &&
      new Set(received.calls.map(({ id }) => id)).size === 2,
  },
  {
    title: 'an image',
    replies: {
      openai: openaiReply({
        content: 'Hello.',
        images: [
          { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` }, index: 0 },
        ],
      }),
      gemini: geminiReply([hello, { inlineData: { mimeType: 'image/png', data: png } }]),
    },
    isReceived: (received) => received.images.join() === png && received.text === 'Hello.',
  },
  {
    title: 'citations',
    replies: {
      openai: openaiReply({
        content: 'Hello.',
        annotations: [
          {
            type: 'url_citation',
            url_citation: { start_index: 0, end_index: 5, url: 'https://example.com', title: 't' },
          },
        ],
      }),
      gemini: geminiReply([hello], {
        groundingMetadata: {
          groundingChunks: [{ web: { uri: 'https://example.com', title: 't' } }],
          groundingSupports: [
            { segment: { startIndex: 0, endIndex: 5, text: 'Hello' }, groundingChunkIndices: [0] },
          ],
        },
      }),
      anthropic: anthropicReply([
        {
          ...text,
          citations: [
            {
              type: 'web_search_result_location',
              url: 'https://example.com',
              title: 't',
              cited_text: 'x',
              encrypted_index: 'e',
            },
          ],
        },
      ]),
    },
    isReceived: (received) => received.sources === 1,
  },
  {
    title: 'logprobs',
    replies: {
      openai: openaiReply(
        { content: 'Hi' },
        { logprobs: { content: [{ token: 'Hi', logprob: -0.1, bytes: null, top_logprobs: [] }] } },
      ),
      gemini: geminiReply([{ text: 'Hi' }], {
        logprobsResult: { chosenCandidates: [{ token: 'Hi', logProbability: -0.1 }] },
      }),
    },
    isReceived: (received) => received.tokens.join() === 'Hi',
  },
];

const endings: readonly ReplyFeature[] = [
  {
    title: 'a reply cut at the token limit',
    replies: {
      openai: openaiReply({ content: 'Hello.' }, { finish_reason: 'length' }),
      gemini: geminiReply([hello], { finishReason: 'MAX_TOKENS' }),
      anthropic: anthropicReply([text], { stop_reason: 'max_tokens' }),
    },
    isReceived: (received) =>
      ['length', 'MAX_TOKENS'].includes(received.finish) && received.text === 'Hello.',
  },
  {
    title: 'a blocked reply',
    replies: {
      openai: openaiReply({ content: 'Hel' }, { finish_reason: 'content_filter' }),
      gemini: geminiReply([{ text: 'Hel' }], { finishReason: 'SAFETY' }),
      anthropic: anthropicReply([{ type: 'text', text: 'Hel' }], { stop_reason: 'refusal' }),
    },
    isReceived: (received) =>
      ['content_filter', 'SAFETY'].includes(received.finish) && received.text.startsWith('Hel'),
  },
  {
    title: 'text of a refusal',
    replies: {
      openai: openaiReply({ content: null, refusal: 'I can’t.' }),
      gemini: geminiReply([], { finishReason: 'SAFETY', finishMessage: 'I can’t.' }),
      anthropic: anthropicReply([], {
        stop_reason: 'refusal',
        stop_details: { type: 'refusal', category: 'cyber', explanation: 'I can’t.' },
      }),
    },
    isReceived: (received) => received.refusal === 'I can’t.',
  },
  {
    title: 'a blocked prompt',
    replies: {
      openai: {
        error: { message: 'Filtered.', type: 'invalid_request_error', code: 'content_filter' },
      },
      gemini: {
        promptFeedback: { blockReason: 'SAFETY' },
        usageMetadata: { promptTokenCount: 5, totalTokenCount: 5 },
      },
    },
    statuses: { openai: 400 },
    isReceived: (received) =>
      received.blocked === 'SAFETY' ||
      (received.finish === 'content_filter' &&
        received.refusal.startsWith('Prompt blocked: SAFETY')) ||
      received.status === 400,
  },
  {
    title: 'token usage, with cached and reasoning tokens',
    replies: {
      openai: openaiReply(
        { content: 'Hello.' },
        {},
        {
          usage: {
            prompt_tokens: 100,
            completion_tokens: 30,
            total_tokens: 130,
            prompt_tokens_details: { cached_tokens: 80 },
            completion_tokens_details: { reasoning_tokens: 20 },
          },
        },
      ),
      gemini: geminiReply(
        [hello],
        {},
        {
          usageMetadata: {
            promptTokenCount: 100,
            cachedContentTokenCount: 80,
            candidatesTokenCount: 10,
            thoughtsTokenCount: 20,
            totalTokenCount: 130,
          },
        },
      ),
      anthropic: anthropicReply([text], {
        usage: {
          input_tokens: 20,
          cache_read_input_tokens: 80,
          cache_creation_input_tokens: 0,
          output_tokens: 30,
          output_tokens_details: { thinking_tokens: 20 },
        },
      }),
    },
    isReceived: (received) => received.usage.join() === '100,80,30,20',
  },
];

const failures: readonly ReplyFeature[] = [
  {
    title: '400, 413, 429, 503 and 504 before the first byte keep their status',
    replies: {
      openai: { error: { message: 'Slow down.', type: 'rate_limit_error' } },
      gemini: { error: { code: 429, message: 'Slow down.', status: 'RESOURCE_EXHAUSTED' } },
      anthropic: { type: 'error', error: { type: 'rate_limit_error', message: 'Slow down.' } },
    },
    statuses: { openai: 429, gemini: 429, anthropic: 429 },
    isReceived: (received) => received.status === 429 && received.error !== undefined,
  },
  {
    title: 'an error in the middle of a stream',
    replies: {
      openai: openaiReply({ content: 'Hello.' }),
      gemini: geminiReply([{ text: 'Hel' }, { text: 'lo.' }]),
      anthropic: anthropicReply([text]),
    },
    ending: 'error',
    isReceived: (received) =>
      received.error !== undefined && received.finish === '' && received.text !== '',
  },
  {
    title: 'a stream that breaks off',
    replies: {
      openai: openaiReply({ content: 'Hello.' }),
      gemini: geminiReply([{ text: 'Hel' }, { text: 'lo.' }]),
      anthropic: anthropicReply([text]),
    },
    ending: 'cut',
    isReceived: (received) =>
      received.error !== undefined && received.finish === '' && received.text !== '',
  },
];

/** In the order of the table. */
export const replyFeatures: readonly ReplyFeature[] = [...contents, ...endings, ...failures];
