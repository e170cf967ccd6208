// suite: slow host
/** What the gateway sends to Vertex AI is what the official clients send. */
import Anthropic from '@anthropic-ai/sdk';
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk';
import { FunctionCallingConfigMode, GoogleGenAI, Type } from '@google/genai';
import { OAuth2Client } from 'google-auth-library';
import OpenAI from 'openai';
import { afterEach, describe, it, vi } from 'vitest';
import { vertex } from '../../../src/platforms/places.ts';
import { callerSecret } from '../../support/gateway-in-process.ts';
import {
  expectSame,
  type Fetch,
  gatewayFetch,
  recordingFetch,
  type Scripted,
  token,
} from './sent-requests.ts';

const project = 'acme-prod';
const locations = ['global', 'us', 'eu', 'us-central1', 'europe-west4'] as const;
const gatewayUrl = 'https://gateway.example';

const authClient = new OAuth2Client();
authClient.setCredentials({ access_token: token, expiry_date: Date.UTC(2100, 0) });

afterEach(() => {
  vi.unstubAllGlobals();
});

const geminiText: Scripted = {
  text:
    '{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},' +
    '"finishReason":"STOP"}]}',
};
const geminiStream: Scripted = {
  contentType: 'text/event-stream',
  text: `data: ${geminiText.text}\n\n`,
};
const oneEmbedding: Scripted = {
  text: '{"embedding":{"values":[0.5,0.5]},"usageMetadata":{"promptTokenCount":3}}',
};
const prediction = '{"embeddings":{"values":[0.5,0.5],"statistics":{"token_count":3}}}';
const twoPredictions: Scripted = { text: `{"predictions":[${prediction},${prediction}]}` };

const tools = [
  {
    functionDeclarations: [
      {
        name: 'weather',
        description: 'Weather of a city',
        parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } } },
      },
    ],
  },
];

const toolRound = [
  { role: 'user', parts: [{ text: 'How is it in Rome?' }] },
  { role: 'model', parts: [{ functionCall: { name: 'weather', args: { city: 'Rome' } } }] },
  { role: 'user', parts: [{ functionResponse: { name: 'weather', response: { sky: 'blue' } } }] },
];

interface GoogleCase {
  readonly reply: Scripted;
  run(ai: GoogleGenAI): Promise<unknown>;
}

const model = 'gemini-3-flash';
const contents = 'Hello!';

const googleCases: Readonly<Record<string, GoogleCase>> = {
  text: {
    reply: geminiText,
    run: (ai) =>
      ai.models.generateContent({
        model,
        contents,
        config: { systemInstruction: 'Be brief.', temperature: 0.5, maxOutputTokens: 99 },
      }),
  },
  stream: {
    reply: geminiStream,
    run: async (ai) => {
      for await (const _ of await ai.models.generateContentStream({ model, contents }));
    },
  },
  tools: {
    reply: geminiText,
    run: (ai) =>
      ai.models.generateContent({
        model,
        contents: toolRound,
        config: {
          tools,
          toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.AUTO } },
        },
      }),
  },
  image: {
    reply: geminiText,
    run: (ai) =>
      ai.models.generateContent({
        model,
        contents: [{ inlineData: { mimeType: 'image/png', data: 'aGk=' } }, 'What is it?'],
      }),
  },
  schema: {
    reply: geminiText,
    run: (ai) =>
      ai.models.generateContent({
        model,
        contents,
        config: {
          responseMimeType: 'application/json',
          responseJsonSchema: { type: 'object', properties: { a: { type: 'string' } } },
        },
      }),
  },
  count: {
    reply: { text: '{"totalTokens":3}' },
    run: (ai) => ai.models.countTokens({ model, contents }),
  },
  'an embedding of Gemini': {
    reply: oneEmbedding,
    run: (ai) =>
      ai.models.embedContent({
        model: 'gemini-embedding-2',
        contents,
        config: { taskType: 'RETRIEVAL_QUERY', outputDimensionality: 2 },
      }),
  },
  'embeddings of an older model': {
    reply: twoPredictions,
    run: (ai) =>
      ai.models.embedContent({
        model: 'text-embedding-005',
        contents: ['one', 'two'],
        config: { taskType: 'RETRIEVAL_DOCUMENT', title: 'Numbers', outputDimensionality: 2 },
      }),
  },
};

async function withGlobalFetch<T>(stub: Fetch, run: () => Promise<T>): Promise<T> {
  vi.stubGlobal('fetch', stub);
  try {
    return await run();
  } finally {
    vi.unstubAllGlobals();
  }
}

async function compareGoogle(
  { reply, run }: GoogleCase,
  official: GoogleGenAI,
  place: GatewayPlace,
) {
  const expected = recordingFetch(reply);
  await withGlobalFetch(expected.fetch, () => run(official));
  const gateway = gatewayFetch(place, reply);
  const caller = new GoogleGenAI({ apiKey: callerSecret, httpOptions: { baseUrl: gatewayUrl } });
  await withGlobalFetch(gateway.fetch, () => run(caller));
  expectSame(gateway.sent(), expected.sent);
}

type GatewayPlace = Parameters<typeof gatewayFetch>[0];

describe.each(Object.entries(googleCases))('Gemini: %s', (_, googleCase) => {
  it.each(locations)('in %s', async (location) => {
    const httpOptions = { apiVersion: 'v1' };
    const googleAuthOptions = { authClient };
    const official = new GoogleGenAI({
      vertexai: true,
      project,
      location,
      googleAuthOptions,
      httpOptions,
    });
    await compareGoogle(googleCase, official, vertex({ kind: 'google', project, location }));
  });

  it('in express mode', async () => {
    const official = new GoogleGenAI({ vertexai: true, apiKey: 'AIza-key', apiVersion: 'v1' });
    const place = { ...vertex({ kind: 'google' }), credential: 'AIza-key' };
    await compareGoogle(googleCase, official, place);
  });
});

const claude = 'claude-sonnet-4-5@20250929';
const hello = [{ role: 'user', content: 'Hello!' }] as const;
const message: Scripted = {
  text:
    '{"id":"msg_vrtx_1","type":"message","role":"assistant","model":"claude","content":' +
    '[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","stop_sequence":null,' +
    '"usage":{"input_tokens":3,"output_tokens":1}}',
};
const start = { ...JSON.parse(message.text), content: [] };
const messageStream: Scripted = {
  contentType: 'text/event-stream',
  text: [
    ['vertex_event', { type: 'ping' }],
    ['message_start', { type: 'message_start', message: start }],
    [
      'content_block_start',
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ],
    [
      'content_block_delta',
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
    ],
    ['content_block_stop', { type: 'content_block_stop', index: 0 }],
    [
      'message_delta',
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    ],
    ['message_stop', { type: 'message_stop' }],
  ]
    .map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
    .join(''),
};

/** What both clients of Anthropic have. */
interface ClaudeClient {
  readonly messages: Pick<Anthropic['messages'], 'create' | 'stream' | 'countTokens'>;
  readonly beta: {
    readonly messages: Pick<Anthropic['beta']['messages'], 'create' | 'countTokens'>;
  };
}

interface ClaudeCase {
  readonly reply: Scripted;
  run(client: ClaudeClient): Promise<unknown>;
}

const claudeCases: Readonly<Record<string, ClaudeCase>> = {
  text: {
    reply: message,
    run: ({ messages }) =>
      messages.create({
        model: claude,
        max_tokens: 99,
        system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
        messages: [...hello],
      }),
  },
  stream: {
    reply: messageStream,
    run: ({ messages }) =>
      messages.stream({ model: claude, max_tokens: 99, messages: [...hello] }).finalMessage(),
  },
  tools: {
    reply: message,
    run: ({ messages }) =>
      messages.create({
        model: claude,
        max_tokens: 99,
        tools: [{ name: 'weather', input_schema: { type: 'object', properties: {} } }],
        messages: [
          ...hello,
          {
            role: 'assistant',
            content: [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} }],
          },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'blue' }],
          },
        ],
      }),
  },
  image: {
    reply: message,
    run: ({ messages }) =>
      messages.create({
        model: claude,
        max_tokens: 99,
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'image',
                source: { type: 'base64', media_type: 'image/png', data: 'aGk=' },
              },
            ],
          },
        ],
      }),
  },
  'beta features': {
    reply: message,
    run: ({ beta }) =>
      beta.messages.create({
        model: claude,
        max_tokens: 99,
        betas: ['interleaved-thinking-2025-05-14', 'context-management-2025-06-27'],
        context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
        messages: [...hello],
      }),
  },
  count: {
    reply: { text: '{"input_tokens":3}' },
    run: ({ messages }) => messages.countTokens({ model: claude, messages: [...hello] }),
  },
  'count with beta features': {
    reply: { text: '{"input_tokens":3}' },
    run: ({ beta }) => beta.messages.countTokens({ model: claude, messages: [...hello] }),
  },
};

describe.each(Object.entries(claudeCases))('Claude: %s', (_, { reply, run }) => {
  it.each(locations)('in %s', async (location) => {
    const expected = recordingFetch(reply);
    await run(
      new AnthropicVertex({
        region: location,
        projectId: project,
        authClient,
        fetch: expected.fetch,
      }),
    );
    const gateway = gatewayFetch(vertex({ kind: 'anthropic', project, location }), reply);
    await run(new Anthropic({ apiKey: callerSecret, baseURL: gatewayUrl, fetch: gateway.fetch }));

    expectSame(gateway.sent(), expected.sent);
  });
});

/** Google documents the endpoint for OpenAI's client, with a token as its key. */
describe('the OpenAI-compatible endpoint', () => {
  const chunk = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] };
  const completion = {
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  };
  const messages = [{ role: 'user', content: 'Hello!' }] as const;
  const cases: readonly (readonly [string, Scripted, (client: OpenAI) => Promise<unknown>])[] = [
    [
      'text',
      { text: JSON.stringify(completion) },
      ({ chat }) =>
        chat.completions.create({ model: 'google/gemini-3-flash', messages: [...messages] }),
    ],
    [
      'stream',
      {
        contentType: 'text/event-stream',
        text: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`,
      },
      async ({ chat }) => {
        const stream = await chat.completions.create({
          model: 'meta/llama-4-maas',
          messages: [...messages],
          stream: true,
          stream_options: { include_usage: true },
        });
        for await (const _ of stream);
      },
    ],
    [
      'embeddings',
      { text: '{"data":[{"index":0,"embedding":[0.5]}],"usage":{"prompt_tokens":3}}' },
      ({ embeddings }) =>
        embeddings.create({
          model: 'intfloat/multilingual-e5-small-maas',
          input: 'query: hello',
          encoding_format: 'float',
        }),
    ],
  ];

  it.each(cases)('%s', async (_, reply, run) => {
    const location = 'us-central1';
    const expected = recordingFetch(reply);
    const host = `https://${location}-aiplatform.googleapis.com`;
    const place = `v1/projects/${project}/locations/${location}`;
    const baseURL = `${host}/${place}/endpoints/openapi`;
    await run(new OpenAI({ apiKey: token, baseURL, fetch: expected.fetch }));
    const gateway = gatewayFetch(vertex({ kind: 'openapi', project, location }), reply);
    await run(
      new OpenAI({ apiKey: callerSecret, baseURL: `${gatewayUrl}/v1`, fetch: gateway.fetch }),
    );

    expectSame(gateway.sent(), expected.sent);
  });
});
