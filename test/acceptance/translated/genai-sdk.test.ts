// suite: slow host
/**
 * The real `@google/genai` package as the caller of models whose upstreams speak other dialects and
 * refuse what the real ones refuse.
 */
import {
  type Content,
  FunctionCallingConfigMode,
  type FunctionDeclaration,
  type GenerateContentConfig,
  type GenerateContentResponse,
  GoogleGenAI,
  HarmBlockThreshold,
  HarmCategory,
  type Part,
  ThinkingLevel,
  Type,
} from '@google/genai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { items, member } from '../../../src/json.ts';
import { gate } from '../../../src/testing/providers/scripts.ts';
import { type MountedGateway, vendorKey } from '../../support/mounted-gateway.ts';
import { collect } from '../../testing/helpers.ts';
import { beginning } from '../provider-replies.ts';
import { translatingGateway } from './translating-gateway.ts';

let harness: MountedGateway;
let ai: GoogleGenAI;

beforeEach(async () => {
  harness = await translatingGateway();
  ai = new GoogleGenAI({
    apiKey: harness.secrets.native,
    httpOptions: { baseUrl: harness.origin },
  });
});

afterEach(() => harness.close());

const contents = 'Hello!';
const user: Content = { role: 'user', parts: [{ text: contents }] };

const asJsonSchema: FunctionDeclaration[] = [
  {
    name: 'get_weather',
    parametersJsonSchema: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
  { name: 'get_time', description: 'What time it is.' },
];
const asSchema: FunctionDeclaration[] = [
  {
    name: 'get_weather',
    parameters: {
      type: Type.OBJECT,
      properties: { city: { type: Type.STRING } },
      required: ['city'],
    },
  },
  { name: 'get_time', parameters: { type: Type.OBJECT, properties: {} } },
];

type Ask = (model: string, history: Content[], config: GenerateContentConfig) => Promise<Content>;

/** The package's ways to call; each returns the model's content, for the history. */
const ways: readonly (readonly [string, Ask])[] = [
  [
    'generateContent',
    async (model, history, config) =>
      contentOf([await ai.models.generateContent({ model, contents: history, config })]),
  ],
  [
    'generateContentStream',
    async (model, history, config) => {
      const request = { model, contents: history, config };
      return contentOf(await collect(await ai.models.generateContentStream(request)));
    },
  ],
];

function contentOf(replies: readonly GenerateContentResponse[]): Content {
  const parts = replies.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
  return { role: 'model', parts };
}

function callsIn({ parts = [] }: Content) {
  return parts.flatMap(({ functionCall }) => functionCall ?? []);
}

function textIn({ parts = [] }: Content): string {
  return parts.map(({ text, thought }) => (thought ? '' : (text ?? ''))).join('');
}

function reasoningIn({ parts = [] }: Content): string {
  return parts.map(({ text, thought }) => (thought ? (text ?? '') : '')).join('');
}

/** Refers to the call by its id or, as many callers do, only by name. */
function resultsOf(content: Content, withIds: boolean): Content {
  const parts = callsIn(content).map(({ id, name }): Part => {
    const result = { name: name ?? '', response: { of: name } };
    return { functionResponse: withIds && id !== undefined ? { id, ...result } : result };
  });
  return { role: 'user', parts };
}

const agents = [
  'openai/gpt-4.1-agent-2',
  'openai/deepseek-agent-2',
  'anthropic/claude-opus-5-agent-2',
  'anthropic/claude-sonnet-4-5-agent-2',
];
const loops = agents.flatMap((model) => [
  [model, 'parametersJsonSchema', asJsonSchema, true] as const,
  [model, 'parameters', asSchema, false] as const,
]);

describe.each(ways)('a loop of three turns by %s', (_way, send) => {
  it.each(
    loops,
  )('completes over %s, with functions declared as %s', async (model, _form, declared, withIds) => {
    const config: GenerateContentConfig = {
      systemInstruction: 'Be brief.',
      tools: [{ functionDeclarations: declared }],
      thinkingConfig: { thinkingBudget: 2048, includeThoughts: true },
    };
    const history: Content[] = [user];
    const rounds: Content[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const content = await send(model, history, config);
      rounds.push(content);
      history.push(content, resultsOf(content, withIds));
    }

    const both = [
      { name: 'get_weather', args: { city: 'sample' } },
      { name: 'get_time', args: {} },
    ];
    const ids = rounds.flatMap((content) => callsIn(content).map(({ id }) => id));
    expect(rounds.map(callsIn)).toMatchObject([both, both, []]);
    expect(new Set(ids).size).toBe(4);
    expect(textIn(rounds[2] ?? {})).toContain('57°F');
    expect(harness.upstream.calls).toHaveLength(3);
  });
});

describe('reasoning', () => {
  it.each(ways)('by %s is shown, and its seal comes back in its place', async (_way, send) => {
    const config: GenerateContentConfig = {
      tools: [{ functionDeclarations: asJsonSchema }],
      thinkingConfig: { thinkingLevel: ThinkingLevel.HIGH, includeThoughts: true },
    };
    const model = 'anthropic/claude-opus-5-agent-2';
    const content = await send(model, [user], config);

    await send(model, [user, content, resultsOf(content, true)], config);

    const [, second] = harness.upstream.calls;
    const [, assistant] = items(member(second?.json(), 'messages'));
    expect(reasoningIn(content)).toBe('This is a straightforward greeting. Round 1.');
    expect(items(member(assistant, 'content'))[0]).toMatchObject({
      type: 'thinking',
      thinking: reasoningIn(content),
      signature: expect.stringMatching(/^[\w+/]+=*$/),
    });
  });

  it.each(
    ways,
  )('of an OpenAI-compatible server is shown by %s where requested', async (_way, send) => {
    const thinkingConfig = { includeThoughts: true };

    const content = await send('openai/deepseek-agent-2', [user], { thinkingConfig });
    const unasked = await send('openai/deepseek-agent-2', [user], {});

    expect(reasoningIn(content)).toBe('The user greets me.');
    expect(textIn(content)).toMatch(/^Hi there!/);
    expect(reasoningIn(unasked)).toBe('');
    expect(textIn(unasked)).toMatch(/^Hi there!/);
  });
});

const foreign = [
  ['openai/gpt-4.1', 'openai'],
  ['anthropic/claude-opus-5', 'anthropic'],
] as const;

describe.each(foreign)('%s', (model, dialect) => {
  it('gets a system instruction and an image', async () => {
    const data = Buffer.from('not really a PNG').toString('base64');
    await ai.models.generateContent({
      model,
      contents: [{ text: 'What is this?' }, { inlineData: { mimeType: 'image/png', data } }],
      config: { systemInstruction: 'Be brief.' },
    });

    const body = harness.upstream.calls[0]?.json();
    const turn = items(member(body, 'messages')).at(-1);
    const image = model.startsWith('openai')
      ? { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }
      : { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
    expect(member(turn, 'content')).toMatchObject([{ type: 'text', text: 'What is this?' }, image]);
    expect(JSON.stringify(member(body, 'system') ?? member(body, 'messages'))).toContain(
      'Be brief.',
    );
  });

  it.each([
    [
      'responseJsonSchema',
      {
        responseJsonSchema: {
          type: 'object',
          properties: { n: { type: 'integer' }, tags: { type: 'array', items: { enum: ['a'] } } },
          required: ['n', 'tags'],
        },
      },
    ],
    [
      'responseSchema',
      {
        responseSchema: {
          type: Type.OBJECT,
          properties: {
            n: { type: Type.INTEGER },
            tags: { type: Type.ARRAY, items: { type: Type.STRING, enum: ['a'] } },
          },
          required: ['n', 'tags'],
        },
      },
    ],
  ])('keeps to a schema given as %s', async (_form, schema) => {
    const reply = await ai.models.generateContent({
      model,
      contents,
      config: { responseMimeType: 'application/json', ...schema },
    });

    expect(JSON.parse(reply.text ?? '')).toEqual({ n: 1, tags: ['a'] });
  });

  it('streams the same text as a whole reply, with usage and a finish', async () => {
    const whole = await ai.models.generateContent({ model, contents });
    const chunks = await collect(await ai.models.generateContentStream({ model, contents }));

    expect(chunks.length).toBeGreaterThan(2);
    expect(chunks.map(({ text }) => text ?? '').join('')).toBe(whole.text);
    expect(whole.usageMetadata?.totalTokenCount).toBeGreaterThan(20);
    expect(chunks.at(-1)?.usageMetadata).toEqual(whole.usageMetadata);
    expect(chunks.at(-1)?.candidates?.[0]?.finishReason).toBe('STOP');
    expect(whole.candidates?.[0]?.finishReason).toBe('STOP');
  });

  it('must call one function where the caller requires it', async () => {
    const reply = await ai.models.generateContent({
      model,
      contents,
      config: {
        tools: [{ functionDeclarations: asSchema }],
        toolConfig: {
          functionCallingConfig: {
            mode: FunctionCallingConfigMode.ANY,
            allowedFunctionNames: ['get_time'],
          },
        },
      },
    });

    expect(reply.functionCalls?.map(({ name }) => name)).toContain('get_time');
  });

  it('lists what it left out in a header', async () => {
    const config = {
      topK: 3,
      safetySettings: [
        {
          category: HarmCategory.HARM_CATEGORY_HARASSMENT,
          threshold: HarmBlockThreshold.BLOCK_ONLY_HIGH,
        },
      ],
    };

    const reply = await ai.models.generateContent({ model, contents, config });

    const dropped = reply.sdkHttpResponse?.headers?.['x-tollgate-dropped'];
    expect(dropped?.split(',').toSorted()).toEqual(['generationConfig.topK', 'safetySettings']);
  });

  it('is aborted upstream when the caller disconnects in the middle of a stream', async () => {
    const never = gate();
    harness.upstream.enqueue(beginning(dialect, never.opened));

    const aborter = new AbortController();
    const config = { abortSignal: aborter.signal };
    const stream = await ai.models.generateContentStream({ model, contents, config });
    for await (const chunk of stream) {
      if (chunk.text === 'one') break;
    }
    aborter.abort();

    const call = await harness.upstream.nextCall();
    expect(await call.closed).toBe('aborted');
    expect(await harness.nextRecord()).toMatchObject({ outcome: 'caller_left' });
  });
});

describe('countTokens', () => {
  it('is Anthropic’s own count', async () => {
    const count = await ai.models.countTokens({ model: 'anthropic/claude-opus-5', contents });

    expect(count.totalTokens).toBe(19);
    expect(harness.upstream.calls[0]?.path).toBe('/v1/messages/count_tokens');
  });

  it('is an estimate, and is marked as one, where the upstream has no count', async () => {
    const path = '/v1beta/models/openai/gpt-4.1:countTokens';
    const count = await ai.models.countTokens({ model: 'openai/gpt-4.1', contents });
    const plain = await fetch(`${harness.origin}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...vendorKey(harness.secrets.native) },
      body: JSON.stringify({ contents: [user] }),
    });

    expect(count.totalTokens).toBeGreaterThan(0);
    expect(plain.headers.get('x-tollgate-estimated')).toBe('totalTokens');
    expect(harness.upstream.calls).toHaveLength(0);
  });
});

describe('a loop that switches models half-way', () => {
  it.each(
    ways,
  )('continues by %s, and sends each provider’s own data only to it', async (_way, send) => {
    const config: GenerateContentConfig = {
      tools: [{ functionDeclarations: asJsonSchema }],
      thinkingConfig: { thinkingLevel: ThinkingLevel.HIGH, includeThoughts: true },
    };
    const claude = 'anthropic/claude-opus-5-agent-2';
    const history: Content[] = [user];
    for (const model of [claude, 'openai/gpt-4.1-agent-2', claude]) {
      const content = await send(model, history, config);
      history.push(content, resultsOf(content, true));
    }

    const [, second, third] = harness.upstream.calls.map(({ body }) => body.toString());
    expect(textIn(history.at(-2) ?? {})).toContain('57°F');
    expect(second).not.toContain('signature');
    expect(third).toContain('"type":"thinking"');
  });
});
