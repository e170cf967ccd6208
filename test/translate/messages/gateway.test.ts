// suite: slow
/** Messages requests through the gateway: what a coding agent sends, and what the upstream gets. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  member,
  parseJson,
} from '../../../src/json.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import { anyModelGateway, messages } from '../../support/any-model-gateway.ts';
import { objectWithNumbers } from '../../support/numbers.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';
import { plainReplies, scripted } from '../matrix/upstream-replies.ts';

type Dialect = 'openai' | 'gemini';
const upstreamModels = { openai: 'gpt-5.4', gemini: 'gemini-3.1-pro' } as const;

interface Sent {
  readonly status: number;
  readonly dropped: string;
  readonly error: JsonValue | undefined;
  /** Undefined if nothing was sent. */
  readonly body: JsonObject | undefined;
}

async function sent(
  dialect: Dialect,
  body: string,
  setup: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly model?: Partial<Model>;
  } = {},
): Promise<Sent> {
  const upstream = scriptedUpstream(scripted(dialect, plainReplies[dialect], false));
  const channel = { dialect, upstreamModel: upstreamModels[dialect] };
  const model = { price: { per: 'free' }, ...setup.model } as const;
  const gateway = anyModelGateway({ upstream, channel, model });
  const { status, text, headers } = await gateway.call({
    ...messages(body),
    headers: setup.headers ?? {},
  });
  const [request] = upstream.requests;
  const written = parseJson(Buffer.concat([...(request?.body ?? [])]).toString());
  return {
    status,
    dropped: headers['x-tollgate-dropped'] ?? '',
    error: member(parseJson(text), 'error'),
    body: isJsonObject(written) ? written : undefined,
  };
}

/** The request that a coding agent sends for a turn, with all that it always adds. */
const agentBody = {
  model: 'claude-m',
  max_tokens: 32_000,
  stream: false,
  system: [
    {
      type: 'text',
      text: 'x-anthropic-billing-header: cc_version=2.1; cc_entrypoint=cli; cch=f0e1',
    },
    { type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } },
  ],
  metadata: { user_id: 'user_1_account__session_2' },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  tools: [
    {
      name: 'Read',
      description: 'Reads a file.',
      input_schema: {
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        properties: { path: { type: 'string' } },
        required: ['path'],
        additionalProperties: false,
      },
      eager_input_streaming: true,
      cache_control: { type: 'ephemeral', ttl: '1h' },
    },
  ],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: '<system-reminder>Today is Monday.</system-reminder>' },
        { type: 'text', text: 'Fix the bug.', cache_control: { type: 'ephemeral' } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 'toolu_1', name: 'Read', input: { path: 'a.ts' } },
        { type: 'tool_use', id: 'toolu_2', name: 'Read', input: { path: 'b.ts' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_2', content: 'b', is_error: true },
        { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'a' }] },
        { type: 'text', text: 'Go on.', cache_control: { type: 'ephemeral' } },
      ],
    },
  ],
};

describe('a turn of a coding agent', () => {
  const body = JSON.stringify(agentBody);
  const unasked = 'cache_control,context_management.edits,system[0]';

  it('is a chat for OpenAI', async () => {
    const { status, body: chat, dropped } = await sent('openai', body);

    expect(status).toBe(200);
    expect(dropped.split(',').toSorted()).toEqual(unasked.split(',').toSorted());
    expect(chat).toMatchObject({
      max_completion_tokens: 32_000,
      user: 'user_1_account__session_2',
      messages: [
        { role: 'system', content: 'You are an agent.' },
        { role: 'user', content: [{}, { type: 'text', text: 'Fix the bug.' }] },
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [
            { id: 'toolu_1', function: { name: 'Read', arguments: '{"path":"a.ts"}' } },
            { id: 'toolu_2', function: { name: 'Read', arguments: '{"path":"b.ts"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'toolu_1', content: 'a' },
        { role: 'tool', tool_call_id: 'toolu_2', content: '{"error":"b"}' },
        { role: 'user', content: 'Go on.' },
      ],
      tools: [{ function: { name: 'Read', parameters: agentBody.tools[0]?.input_schema } }],
    });
  });

  it('is a conversation for Gemini', async () => {
    const { status, body: native, dropped } = await sent('gemini', body);

    expect(status).toBe(200);
    expect(dropped.split(',')).toEqual(expect.arrayContaining(unasked.split(',')));
    expect(native).toMatchObject({
      systemInstruction: { parts: [{ text: 'You are an agent.' }] },
      contents: [
        { role: 'user', parts: [{}, { text: 'Fix the bug.' }] },
        {
          role: 'model',
          parts: [
            { text: 'I look.' },
            { functionCall: { name: 'Read', args: { path: 'a.ts' } } },
            { functionCall: { name: 'Read', args: { path: 'b.ts' } } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'Read', response: { output: 'a' } } },
            { functionResponse: { name: 'Read', response: { error: 'b' } } },
          ],
        },
        { role: 'user', parts: [{ text: 'Go on.' }] },
      ],
    });
  });

  it.each(['openai', 'gemini'] as const)('is served by a strict model over %s', async (dialect) => {
    expect(await sent(dialect, body, { model: { strict: true } })).toMatchObject({ status: 200 });
  });

  it('is refused by a strict model if it asks for more', async () => {
    const asking = JSON.stringify({ ...agentBody, output_config: { task_budget: { total: 9 } } });

    const refused = await sent('openai', asking, { model: { strict: true } });

    expect(refused).toMatchObject({ status: 400, body: undefined });
    expect(String(member(refused.error, 'message'))).toContain('output_config.task_budget');
  });

  it('has a prompt cache key for its session', async () => {
    const keyOf = async (headers: Readonly<Record<string, string>>): Promise<JsonValue> =>
      (await sent('openai', body, { headers })).body?.prompt_cache_key ?? null;
    const first = await keyOf({ 'x-claude-code-session-id': 'session-1' });

    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect(await keyOf({ 'x-claude-code-session-id': 'session-1' })).toBe(first);
    expect(await keyOf({ 'x-claude-code-session-id': 'session-2' })).not.toBe(first);
    expect(await keyOf({})).not.toBe(first);
    expect(await keyOf({})).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe('the input of a call', () => {
  const bodyWith = (input: string): string =>
    `{"model":"m","max_tokens":9, "messages" : [ {"role":"user","content":"hi"},
      {"role":"assistant","content":[ {"type":"text","text":"Hm."},
      {"type":"tool_use","id":"c1","name":"f", "input" : ${input} } ]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1"}]}]}`;
  const argumentsIn = (body: JsonObject | undefined): JsonValue | undefined => {
    const texts: JsonValue[] = [];
    JSON.stringify(body, (name, value: JsonValue) => {
      if (name === 'arguments') texts.push(value);
      return value;
    });
    return texts[0];
  };

  it('is sent to OpenAI as the caller wrote it', async () => {
    await fc.assert(
      fc.asyncProperty(objectWithNumbers, async (input) => {
        const { body } = await sent('openai', bodyWith(input));

        expect(argumentsIn(body)).toBe(input);
      }),
      { numRuns: 50 },
    );
  });

  it('may be longer than what is kept of a large body in its text', async () => {
    const input = `{ "b": "${'x'.repeat(400_000)}", "a": 1.0 }`;
    const { body } = await sent('openai', bodyWith(input));

    expect(argumentsIn(body) === input).toBe(true);
  });
});

describe('a request that cannot be translated', () => {
  it('is refused in Anthropic’s error format, by the name of the member', async () => {
    const body = JSON.stringify({
      ...agentBody,
      messages: [{ role: 'user', content: [{ type: 'of_next_year' }] }],
    });
    for (const dialect of ['openai', 'gemini'] as const) {
      const { status, error, body: upstream } = await sent(dialect, body);

      expect({ status, upstream }).toEqual({ status: 400, upstream: undefined });
      expect(error).toMatchObject({ type: 'invalid_request_error' });
      expect(String(member(error, 'message'))).toContain('messages[0].content[0]');
    }
  });
});

describe('a large request', () => {
  const question = '{"role":"user","content":"hi"}';
  const withMessages = (list: string): string =>
    `{"model":"m","max_tokens":9,"messages":[${list}]}`;

  it.each(['openai', 'gemini'] as const)('may have 10,000 messages over %s', async (dialect) => {
    const times = (count: number): string => Array(count).fill(question).join(',');

    expect(await sent(dialect, withMessages(times(10_000)))).toMatchObject({ status: 200 });
    const refused = await sent(dialect, withMessages(times(10_001)));
    expect(refused).toMatchObject({ status: 400, body: undefined });
    expect(String(member(refused.error, 'message'))).toContain('10000 messages');
  });

  it('may have inputs of any size, whose values are counted with all others', async () => {
    const call = (input: string): string =>
      withMessages(
        `${question},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f",
        "input":${input}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}`,
      );

    const long = await sent('openai', call(`{"file":"${'x'.repeat(2_000_000)}"}`));
    expect(long).toMatchObject({ status: 200 });
    const many = await sent('openai', call(`{"a":[${Array(100_000).fill('0').join(',')}]}`));
    expect(many).toMatchObject({ status: 400, body: undefined });
    expect(String(member(many.error, 'message'))).toContain('100000 values');
  });
});
