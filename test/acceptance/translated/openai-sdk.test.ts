// suite: slow host
/**
 * The real `openai` package as the caller of models whose upstreams speak other dialects and refuse
 * what the real ones refuse.
 */
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isJsonObject, items, type JsonValue, member } from '../../../src/json.ts';
import { gate } from '../../../src/testing/providers/scripts.ts';
import type { MountedGateway } from '../../support/mounted-gateway.ts';
import { collect, decodePng, hello, weatherTool } from '../../testing/helpers.ts';
import { beginning } from '../provider-replies.ts';
import { translatingGateway } from './translating-gateway.ts';

let harness: MountedGateway;
let openai: OpenAI;

beforeEach(async () => {
  harness = await translatingGateway();
  openai = new OpenAI({
    baseURL: `${harness.origin}/v1`,
    apiKey: harness.secrets.chat,
    maxRetries: 0,
  });
});

afterEach(() => harness.close());

type Message = OpenAI.ChatCompletionMessageParam;

const timeTool: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: {
    name: 'get_time',
    description: 'What time it is.',
    parameters: { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'] },
  },
};
const tools = [weatherTool, timeTool];

const agents = [
  ['gemini/gemini-3-agent-2', { reasoning_effort: 'low' }],
  ['gemini/gemini-3-agent-2', {}],
  ['gemini/gemini-2.5-flash-agent-2', { reasoning_effort: 'medium' }],
  ['anthropic/claude-opus-5-agent-2', { reasoning_effort: 'high' }],
  ['anthropic/claude-opus-5-agent-2', {}],
  ['anthropic/claude-sonnet-4-5-agent-2', { reasoning_effort: 'low' }],
] as const;

type Fields = Pick<OpenAI.ChatCompletionCreateParams, 'reasoning_effort'>;
type AssistantMessage = OpenAI.ChatCompletionMessage;
type Ask = (model: string, messages: Message[], fields: Fields) => Promise<AssistantMessage>;

/** The package's ways to call; each returns the message as the package does. */
const ways: readonly (readonly [string, Ask])[] = [
  [
    'create',
    async (model, messages, fields) => {
      const reply = await openai.chat.completions.create({ model, messages, tools, ...fields });
      return messageOf(reply);
    },
  ],
  [
    'stream',
    async (model, messages, fields) => {
      const request = openai.chat.completions.stream({ model, messages, tools, ...fields });
      return messageOf(await request.finalChatCompletion());
    },
  ],
];

function messageOf(reply: OpenAI.ChatCompletion): AssistantMessage {
  const message = reply.choices[0]?.message;
  if (message === undefined) throw new Error('no choice');
  return message;
}

function resultsOf(message: AssistantMessage): Message[] {
  return (message.tool_calls ?? []).map((call): Message => {
    const name = call.type === 'function' ? call.function.name : '';
    return { role: 'tool', tool_call_id: call.id, content: `{"of":"${name}"}` };
  });
}

describe.each(ways)('a loop of three turns by %s', (_way, send) => {
  it.each(agents)('completes over %s, with %j', async (model, fields) => {
    const messages: Message[] = [{ role: 'system', content: 'Be brief.' }, ...hello];
    const rounds: AssistantMessage[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const message = await send(model, messages, fields);
      rounds.push(message);
      messages.push(message, ...resultsOf(message));
    }

    const calls = rounds.map(({ tool_calls }) =>
      (tool_calls ?? []).map((call) => (call.type === 'function' ? call.function : undefined)),
    );
    const both = [
      { name: 'get_weather', arguments: '{"city":"sample","unit":"c"}' },
      { name: 'get_time', arguments: '{"zone":"sample"}' },
    ];
    const ids = rounds.flatMap(({ tool_calls }) => (tool_calls ?? []).map(({ id }) => id));
    expect(calls).toMatchObject([both, both, []]);
    expect(new Set(ids).size).toBe(4);
    expect(rounds[2]?.content).toContain('57°F');
    expect(harness.upstream.calls).toHaveLength(3);
  });
});

describe('reasoning', () => {
  it.each([
    'gemini/gemini-3-agent-2',
    'anthropic/claude-opus-5-agent-2',
  ])('of %s is shown, streamed or not, and a seal comes back in its place', async (model) => {
    const fields = { model, tools, reasoning_effort: 'high' } as const;
    const whole = messageOf(await openai.chat.completions.create({ ...fields, messages: hello }));
    const stream = await openai.chat.completions.create({
      ...fields,
      messages: hello,
      stream: true,
    });
    const chunks = await collect(stream);
    const streamed = chunks
      .map(({ choices }) => member(choices[0]?.delta, 'reasoning_content') ?? '')
      .join('');

    await openai.chat.completions.create({
      ...fields,
      messages: [...hello, whole, ...resultsOf(whole)],
    });

    const sealsMade = sealsIn(whole);
    expect(member(whole, 'reasoning_content')).toBe(streamed);
    expect(streamed).toMatch(/greeting/i);
    expect(sealsMade).toHaveLength(1);
    expect(sealsIn(harness.upstream.calls[2]?.json())).toEqual(sealsMade);
  });
});

/** Every signature in a value, at any depth. */
function sealsIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap(sealsIn);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    /^(thought_?)?signature$/i.test(name) ? [inner] : sealsIn(inner),
  );
}

describe('runTools', () => {
  it.each([
    'gemini/gemini-3-agent-2',
    'anthropic/claude-opus-5-agent-2',
  ])('completes its loop with %s', async (model) => {
    const ran: string[] = [];
    const runner = openai.chat.completions.runTools({
      model,
      messages: hello,
      tools: tools.map((tool) => ({
        type: 'function' as const,
        function: {
          name: tool.function.name,
          description: 'A tool.',
          parameters: tool.function.parameters ?? {},
          parse: JSON.parse,
          function: () => {
            ran.push(tool.function.name);
            return { ok: true };
          },
        },
      })),
    });

    const content = await runner.finalContent();

    expect(content).toContain('57°F');
    expect(ran.toSorted()).toEqual(['get_time', 'get_time', 'get_weather', 'get_weather']);
  });
});

const foreign = [
  ['gemini/gemini-3-pro', 'gemini'],
  ['anthropic/claude-opus-5', 'anthropic'],
] as const;

describe.each(foreign)('%s', (model, dialect) => {
  it('gets a system instruction and an image', async () => {
    const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptV';
    await openai.chat.completions.create({
      model,
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
          ],
        },
      ],
    });

    const [call] = harness.upstream.calls;
    const image = model.startsWith('gemini')
      ? { inlineData: { mimeType: 'image/png', data } }
      : { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
    expect(partsIn(call?.json())).toMatchObject([{ text: 'What is this?' }, image]);
    expect(JSON.stringify(systemIn(call?.json()))).toContain('Be brief.');
  });

  it('keeps to a schema', async () => {
    const reply = await openai.chat.completions.parse({
      model,
      messages: hello,
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'answer',
          strict: true,
          schema: {
            type: 'object',
            properties: {
              n: { type: 'integer' },
              tags: { type: 'array', items: { $ref: '#/$defs/tag' } },
            },
            required: ['n', 'tags'],
            additionalProperties: false,
            $defs: { tag: { type: 'string', enum: ['a', 'b'] } },
          },
        },
      },
    });

    expect(reply.choices[0]?.message.parsed).toEqual({ n: 1, tags: ['a'] });
  });

  it('streams the same text as a whole reply, with usage where requested', async () => {
    const whole = await openai.chat.completions.create({ model, messages: hello });
    const plain = await collect(
      await openai.chat.completions.create({ model, messages: hello, stream: true }),
    );
    const counted = await collect(
      await openai.chat.completions.create({
        model,
        messages: hello,
        stream: true,
        stream_options: { include_usage: true },
      }),
    );

    const text = plain.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(plain.every(({ choices, usage }) => choices.length === 1 && usage == null)).toBe(true);
    expect(whole.choices[0]?.finish_reason).toBe('stop');
    expect(whole.usage?.total_tokens).toBeGreaterThan(20);
    expect(counted.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
    expect(counted.at(-2)?.choices[0]?.finish_reason).toBe('stop');
  });

  it.each([false, true])('lists what it left out in a header (stream: %s)', async (stream) => {
    const { response } = await openai.chat.completions
      .create({ model, messages: hello, stream, logit_bias: { '50256': -100 } })
      .withResponse();

    expect(response.headers.get('x-tollgate-dropped')).toContain('logit_bias');
  });

  it('is aborted upstream when the caller breaks out of a stream', async () => {
    const never = gate();
    harness.upstream.enqueue(beginning(dialect, never.opened));

    const stream = await openai.chat.completions.create({ model, messages: hello, stream: true });
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content === 'one') break;
    }

    const call = await harness.upstream.nextCall();
    expect(await call.closed).toBe('aborted');
    expect(await harness.nextRecord()).toMatchObject({ outcome: 'caller_left' });
  });
});

function partsIn(body: JsonValue | undefined): readonly JsonValue[] {
  const turns = items(member(body, 'contents') ?? member(body, 'messages'));
  return items(member(turns[0], 'parts') ?? member(turns[0], 'content'));
}

function systemIn(body: JsonValue | undefined): JsonValue | undefined {
  return member(body, 'systemInstruction') ?? member(body, 'system');
}

describe('a loop that switches models half-way', () => {
  it.each(
    ways,
  )('continues by %s, and sends each provider’s own data only to it', async (_way, send) => {
    const claude = 'anthropic/claude-opus-5-agent-2';
    const messages: Message[] = [...hello];
    for (const model of [claude, 'gemini/gemini-3-agent-2', claude]) {
      const message = await send(model, messages, { reasoning_effort: 'high' });
      messages.push(message, ...resultsOf(message));
    }

    const [, second, third] = harness.upstream.calls.map((call) => call.json());
    expect(messages.at(-1)?.content).toContain('57°F');
    expect(JSON.stringify(second)).not.toContain('straightforward greeting');
    expect(JSON.stringify(third)).toContain('"type":"thinking"');
    expect(JSON.stringify(third)).not.toContain('hought_');
  });
});

describe('images.generate over Gemini', () => {
  it('decodes to a PNG of the requested size', async () => {
    const images = new OpenAI({ baseURL: `${harness.origin}/v1`, apiKey: harness.secrets.image });

    const reply = await images.images.generate({
      model: 'gemini/gemini-3-pro-image',
      prompt: 'A cat.',
      size: '1024x1024',
    });

    expect(decodePng(reply.data?.[0]?.b64_json ?? '')).toEqual({ width: 1024, height: 1024 });
    expect(reply.usage).toMatchObject({ input_tokens: 7, output_tokens: 1290 });
  });
});
