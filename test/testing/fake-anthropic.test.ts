// suite: slow host
/** The fake Anthropic replies like the recorded traffic of the real one. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseEvents } from '../../src/bytes/sse.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../src/json.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/providers/server.ts';
import { fixture } from '../support/recorded/fixtures.ts';
import { post } from './helpers.ts';

let upstream: FakeUpstream;

beforeEach(async () => {
  upstream = await startFakeUpstream();
});

afterEach(() => upstream.close());

const request = {
  model: 'claude-x',
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'Hello!' }],
};

const weatherTool = {
  name: 'get_weather',
  input_schema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
};
const timeTool = {
  name: 'get_time',
  input_schema: { type: 'object', properties: { zone: { type: 'string', enum: ['utc'] } } },
};
const searchTool = { type: 'web_search_20250305', name: 'web_search' };

function send(body: unknown, path = '/v1/messages', headers: Record<string, string> = {}) {
  return post(upstream, path, body, {
    headers: {
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      ...headers,
    },
  });
}

async function answer(body: unknown): Promise<JsonValue> {
  const response = await send(body);
  expect(response.status).toBe(200);
  return parseJson(await response.text()) ?? null;
}

async function streamed(body: object): Promise<readonly JsonValue[]> {
  const response = await send({ ...body, stream: true });
  return documentsIn(Buffer.from(await response.arrayBuffer()));
}

/** The data of the events, whose names must equal their `type`. */
function documentsIn(bytes: Uint8Array): readonly JsonValue[] {
  return parseEvents(bytes).map(({ name, data = '' }) => {
    const document = parseJson(data) ?? null;
    expect(member(document, 'type')).toBe(name);
    return document;
  });
}

/** The whole message of a stream, assembled like a caller does. */
function assembled(events: readonly JsonValue[]): unknown {
  const message = member(
    events.find((event) => member(event, 'type') === 'message_start'),
    'message',
  );
  const end = events.find((event) => member(event, 'type') === 'message_delta');
  const starts = events.filter((event) => member(event, 'type') === 'content_block_start');
  return {
    ...record(message),
    content: starts.map((start) => blockOf(start, events)),
    ...record(member(end, 'delta')),
    usage: { ...record(member(message, 'usage')), ...record(member(end, 'usage')) },
  };
}

function blockOf(start: JsonValue, events: readonly JsonValue[]): unknown {
  const index = member(start, 'index');
  const deltas = events
    .filter((event) => member(event, 'type') === 'content_block_delta')
    .filter((event) => member(event, 'index') === index)
    .map((event) => member(event, 'delta'));
  const all = (name: string): string => deltas.map((delta) => member(delta, name) ?? '').join('');
  const block = record(member(start, 'content_block'));
  switch (block.type) {
    case 'text':
      return { ...block, text: all('text') };
    case 'thinking':
      return { ...block, thinking: all('thinking'), signature: all('signature') };
    default:
      return { ...block, input: parseJson(all('partial_json')) };
  }
}

function record(value: JsonValue | undefined): Readonly<Record<string, JsonValue>> {
  return isJsonObject(value) ? value : {};
}

function typesIn(events: readonly JsonValue[]): readonly unknown[] {
  return events.map((event) => member(event, 'type'));
}

/** Repeated types count once, since the number of pieces does not matter. */
function shapeOf(events: readonly JsonValue[]): readonly string[] {
  const shapes = events.map((event) => JSON.stringify(keysOf(event)));
  return shapes.filter((shape, index) => shape !== shapes[index - 1]);
}

/** The names of all members at any depth, with the type of each event and delta. */
function keysOf(value: JsonValue | undefined): unknown {
  if (!isJsonObject(value)) return typeof value;
  return Object.entries(value)
    .map(([name, inner]) => [name, name === 'type' ? inner : keysOf(inner)])
    .toSorted(([a], [b]) => String(a).localeCompare(String(b)));
}

describe('as Anthropic', () => {
  it('replies with the requested model and with usage', async () => {
    const reply = await answer(request);

    expect(reply).toMatchObject({
      model: 'claude-x',
      id: 'msg_000000000001',
      content: [{ type: 'text', text: expect.stringContaining('How are you doing today?') }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 12, output_tokens: 30 },
    });
  });

  it('streams the events of a recorded text with the same members', async () => {
    const recorded = documentsIn(fixture('anthropic/v-stream-text').response);

    const events = await streamed(request);

    expect(shapeOf(events)).toEqual(shapeOf(recorded));
    expect(typesIn(events).slice(0, 3)).toEqual(['message_start', 'content_block_start', 'ping']);
    expect(typesIn(events).slice(-3)).toEqual([
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it.each([
    ['a text', {}],
    ['thinking', { max_tokens: 2048, thinking: { type: 'enabled', budget_tokens: 1024 } }],
    ['two calls', { tools: [weatherTool, timeTool] }],
  ])('streams %s that adds up to the whole reply', async (_name, fields) => {
    const whole = await answer({ ...request, ...fields });
    upstream.reset();

    const events = await streamed({ ...request, ...fields });

    expect(assembled(events)).toEqual(whole);
  });

  it('calls two offered tools in parallel, and then replies to their results', async () => {
    const tools = [searchTool, weatherTool, timeTool];
    const reply = await answer({ ...request, tools });
    const calls = items(member(reply, 'content'));
    const results = calls.map((call) => ({
      type: 'tool_result',
      tool_use_id: member(call, 'id'),
      content: '57°F',
    }));

    const answered = await answer({
      ...request,
      tools,
      messages: [
        ...request.messages,
        { role: 'assistant', content: calls },
        { role: 'user', content: results },
      ],
    });

    expect(reply).toMatchObject({ stop_reason: 'tool_use' });
    expect(calls).toEqual([
      expect.objectContaining({ type: 'tool_use', name: 'get_weather', input: { city: 'sample' } }),
      expect.objectContaining({ type: 'tool_use', name: 'get_time', input: { zone: 'utc' } }),
    ]);
    expect(new Set(calls.map((call) => member(call, 'id'))).size).toBe(2);
    expect(answered).toMatchObject({
      content: [{ text: 'It is 57°F and foggy right now.' }],
      stop_reason: 'end_turn',
    });
  });

  it.each([
    [{ type: 'none' }, []],
    [{ type: 'tool', name: 'get_time' }, ['get_time']],
    [{ type: 'any', disable_parallel_tool_use: true }, ['get_weather']],
    [{ type: 'auto' }, ['get_weather', 'get_time']],
  ])('respects the tool choice %j', async (choice, names) => {
    const reply = await answer({ ...request, tools: [weatherTool, timeTool], tool_choice: choice });

    const calls = items(member(reply, 'content')).map((block) => member(block, 'name'));
    expect(calls.filter((name) => name !== undefined)).toEqual(names);
  });

  it('respects an output schema', async () => {
    const schema = {
      type: 'object',
      properties: { score: { type: 'integer' } },
      additionalProperties: false,
    };

    const reply = await answer({
      ...request,
      output_config: { format: { type: 'json_schema', schema } },
    });

    expect(member(items(member(reply, 'content'))[0], 'text')).toBe('{"score":1}');
  });

  it('counts more tokens in a longer prompt', async () => {
    const { max_tokens: _, ...short } = request;
    const long = { ...short, system: 'Answer as briefly as you can.' };
    const count = (body: unknown) => send(body, '/v1/messages/count_tokens');

    const [few, many] = await Promise.all([count(short), count(long)]);

    expect(await few.json()).toEqual({ input_tokens: 12 });
    expect(await many.json()).toEqual({ input_tokens: 19 });
  });

  it.each([
    ['its limit', { max_tokens: 2 }, 'Hello! I', { stop_reason: 'max_tokens' }],
    [
      'the first stop sequence',
      { stop_sequences: ['thank', ' doing'] },
      "Hello! I'm",
      { stop_reason: 'stop_sequence', stop_sequence: ' doing' },
    ],
  ])('stops at %s, streamed or not', async (_name, fields, text, end) => {
    const whole = await answer({ ...request, ...fields });
    upstream.reset();
    const events = await streamed({ ...request, ...fields });

    expect(whole).toMatchObject({ content: [{ text }], ...end });
    expect(assembled(events)).toEqual(whole);
  });

  it('writes to the cache at a marker, and reads from it in later calls', async () => {
    const cache_control = { type: 'ephemeral', ttl: '1h' };
    const marked = { ...request, system: [{ type: 'text', text: 'Be brief.', cache_control }] };
    const later = [
      ...request.messages,
      { role: 'assistant', content: 'Hello!' },
      { role: 'user', content: 'And?' },
    ];

    const first = await answer(marked);
    const second = await answer({ ...marked, messages: later });

    expect(member(first, 'usage')).toMatchObject({
      cache_creation_input_tokens: 7351,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 7351 },
    });
    expect(member(second, 'usage')).toMatchObject({
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 7351,
    });
  });

  it('pads its events like the recorded ones', async () => {
    const padded = /[^ {] +\}\n\n/;
    const response = await send({ ...request, stream: true });

    expect(Buffer.from(fixture('messages/stream-effort.1').response).toString()).toMatch(padded);
    expect(await response.text()).toMatch(padded);
  });

  it('refuses in the format of a recorded refusal', async () => {
    const recorded = parseJson(
      Buffer.from(fixture('anthropic/err-effort.1').response).toString('utf8'),
    );
    const { max_tokens: _, ...unbounded } = request;

    const reply = await send(unbounded);
    const document = parseJson(await reply.text());

    expect(reply.status).toBe(400);
    expect(keysOf(document)).toEqual(keysOf(recorded));
    expect(document).toMatchObject({ error: { message: 'max_tokens: Field required' } });
    expect(reply.headers.get('request-id')).toBe(member(document, 'request_id'));
  });

  it('refuses invalid bodies, empty messages, and unknown paths', async () => {
    const rubbish = await send('rubbish');
    const empty = await send({ ...request, messages: [] });
    const path = await send(request, '/v1/messages/batches');
    const method = await fetch(`${upstream.anthropicBaseUrl}/messages`);

    const statuses = [rubbish, empty, path, method].map(({ status }) => status);
    expect(statuses).toEqual([400, 400, 404, 405]);
    expect(await path.json()).toMatchObject({ error: { type: 'not_found_error' } });
  });

  it('accepts the key in its own header only', async () => {
    const locked = await startFakeUpstream({ apiKey: 'sk-ant-right' });
    const knock = (headers: Record<string, string>): Promise<Response> =>
      post(locked, '/v1/messages', request, {
        headers: { 'anthropic-version': '2023-06-01', ...headers },
      });

    const right = await knock({ 'x-api-key': 'sk-ant-right' });
    const wrong = await knock({ 'x-api-key': 'sk-ant-wrong' });
    const none = await knock({ authorization: 'Bearer sk-ant-right' });
    await locked.close();

    expect([right.status, wrong.status, none.status]).toEqual([200, 401, 401]);
    expect(await wrong.json()).toMatchObject({
      error: { type: 'authentication_error', message: 'invalid x-api-key' },
    });
  });
});

describe('faults by model name, as Anthropic', () => {
  it.each([
    ['demo-503', 529, 'overloaded_error'],
    ['demo-500', 500, 'api_error'],
    ['demo-429', 429, 'rate_limit_error'],
  ])('%s returns %i', async (model, status, type) => {
    const whole = await send({ ...request, model });
    const stream = await send({ ...request, model, stream: true });

    expect([whole.status, stream.status]).toEqual([status, status]);
    expect(await whole.json()).toMatchObject({ type: 'error', error: { type } });
  });

  it('demo-429 says when to retry', async () => {
    const reply = await send({ ...request, model: 'demo-429' });

    expect(reply.headers.get('retry-after')).toBe('2');
  });

  it('demo-safety refuses as recorded, streamed or not', async () => {
    const recorded = parseJson(
      Buffer.from(fixture('anthropic/v-refusal').response).toString('utf8'),
    );

    const reply = await answer({ ...request, model: 'demo-safety' });
    upstream.reset();
    const events = await streamed({ ...request, model: 'demo-safety' });

    expect(reply).toMatchObject({ content: [], stop_reason: 'refusal' });
    expect(member(member(reply, 'stop_details'), 'explanation')).toBe(
      member(member(recorded, 'stop_details'), 'explanation'),
    );
    expect(assembled(events)).toEqual(reply);
  });

  it('demo-empty has no content', async () => {
    const reply = await answer({ ...request, model: 'demo-empty' });

    expect(reply).toMatchObject({ content: [], stop_reason: 'end_turn' });
  });

  it('demo-error-event puts an error into the stream', async () => {
    const events = await streamed({ ...request, model: 'demo-error-event' });

    expect(typesIn(events)).toContain('content_block_delta');
    expect(typesIn(events)).not.toContain('message_stop');
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
  });
});
