/** One call of each API, relayed and translated, with the reply of its upstream. */

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const message = { role: 'assistant', content: 'Hi.' };
const completion = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message, finish_reason: 'stop' }],
  usage,
};
const chunk = (delta, finish_reason = null) => ({
  ...completion,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason }],
  usage: undefined,
});
const generated = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hi.' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
};
const claude = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'Hi.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 2 },
};
const output = [
  {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'Hi.', annotations: [] }],
  },
];
const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'm',
  status: 'completed',
  output,
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
};

const data = (documents) => documents.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');
const named = (documents) =>
  documents.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join('');

const vector = Array.from({ length: 64 }, () => 0.125);

const replies = {
  openai: {
    json: completion,
    sse: `${data([
      chunk({ role: 'assistant', content: '' }),
      ...Array.from({ length: 8 }, () => chunk({ content: 'Hi. ' })),
      chunk({}, 'stop'),
      { ...completion, object: 'chat.completion.chunk', choices: [] },
    ])}data: [DONE]\n\n`,
  },
  gemini: { json: generated, sse: data(Array.from({ length: 8 }, () => generated)) },
  anthropic: {
    json: claude,
    sse: named([
      { type: 'message_start', message: { ...claude, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      ...Array.from({ length: 8 }, () => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: 'Hi. ' },
      })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ]),
  },
  responses: {
    json: response,
    sse: named(
      [
        { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
        {
          type: 'response.output_item.added',
          output_index: 0,
          item: { ...output[0], content: [] },
        },
        ...Array.from({ length: 8 }, () => ({
          type: 'response.output_text.delta',
          item_id: 'msg_1',
          output_index: 0,
          content_index: 0,
          delta: 'Hi. ',
        })),
        { type: 'response.output_item.done', output_index: 0, item: output[0] },
        { type: 'response.completed', response },
      ].map((event, sequence_number) => ({ ...event, sequence_number })),
    ),
  },
  embeddings: {
    json: {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: vector }],
      model: 'm',
      usage: { prompt_tokens: 3, total_tokens: 3 },
    },
  },
  'gemini-embeddings': { json: { embedding: { values: vector } } },
  images: { json: { created: 1, data: [{ b64_json: 'aGk='.repeat(256) }] } },
};

const hello = { messages: [{ role: 'user', content: 'Hello.' }] };
const chat = { path: '/v1/chat/completions', body: hello };
const messages = { path: '/v1/messages', body: { ...hello, max_tokens: 64 } };
const responses = { path: '/v1/responses', body: { input: 'Hello.' } };
const native = { path: '/v1beta/models/{model}:generateContent' };
const contents = { contents: [{ parts: [{ text: 'Hello.' }] }] };
const streamed = ({ path, body }) => ({ path, body: { ...body, stream: true } });
const nativeStream = { path: '/v1beta/models/{model}:streamGenerateContent?alt=sse' };

/** What each row calls, and whose reply it gets. */
const rows = {
  chat: [chat, 'openai'],
  'chat, streamed': [streamed(chat), 'openai'],
  native: [{ ...native, body: contents }, 'gemini'],
  'native, streamed': [{ ...nativeStream, body: contents }, 'gemini'],
  Messages: [messages, 'anthropic'],
  'Messages, streamed': [streamed(messages), 'anthropic'],
  Responses: [responses, 'responses'],
  'Responses, streamed': [streamed(responses), 'responses'],
  embeddings: [{ path: '/v1/embeddings', body: { input: 'Hello.' } }, 'embeddings'],
  'native embeddings': [
    { path: '/v1beta/models/{model}:embedContent', body: { content: contents.contents[0] } },
    'gemini-embeddings',
  ],
  images: [{ path: '/v1/images/generations', body: { prompt: 'A cat.' } }, 'images'],
  'chat over Gemini': [chat, 'gemini'],
  'chat over Gemini, streamed': [streamed(chat), 'gemini'],
  'chat over Anthropic': [chat, 'anthropic'],
  'chat over Anthropic, streamed': [streamed(chat), 'anthropic'],
  'Messages over OpenAI': [messages, 'openai'],
  'Messages over OpenAI, streamed': [streamed(messages), 'openai'],
  'Responses over OpenAI': [responses, 'openai'],
  'Responses over OpenAI, streamed': [streamed(responses), 'openai'],
};

const price = { per: 'token', rates: { input: 1n, output: 1n } };

/** The model of an upstream; embeddings and images are OpenAI's too. */
function modelOf(id, baseUrl) {
  const [vendor, only] = id.split('-');
  const dialect = vendor === 'gemini' || vendor === 'anthropic' ? vendor : 'openai';
  const isResponses = id === 'responses';
  const text = ['chat', 'native', 'messages', 'responses'];
  return {
    id,
    vendor: 'Acme',
    protocols: ['embeddings', 'images'].includes(only ?? id) ? [only ?? id] : text,
    groups: ['g'],
    price: id === 'images' ? { per: 'image', rows: [{ nanos: 1n }] } : price,
    maxOutputTokens: 100,
    channels: [
      {
        id,
        dialect,
        baseUrl: `${baseUrl}/v1`,
        credential: 'upstream-secret',
        priority: 0,
        weight: 1,
        ...(dialect === 'openai' && { capabilities: { responses: isResponses } }),
      },
    ],
  };
}

/** The models of all rows, on upstreams at this URL. */
export function sampleModels(baseUrl) {
  return Object.keys(replies).map((id) => modelOf(id, baseUrl));
}

/** The rows: a name, a path with its query, the body's text and the upstream's reply. */
export const sampleCalls = Object.entries(rows).map(([name, [{ path, body }, upstream]]) => {
  const isNative = path.includes('{model}');
  const text = JSON.stringify(isNative ? body : { model: upstream, ...body });
  const isStream = name.endsWith('streamed');
  const { json, sse } = replies[upstream];
  return {
    name,
    path: path.replace('{model}', upstream),
    body: text,
    reply: {
      type: isStream ? 'text/event-stream' : 'application/json',
      bytes: Buffer.from(isStream ? sse : JSON.stringify(json)),
    },
  };
});
