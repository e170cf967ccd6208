// suite: slow host
/** The fake Responses API of OpenAI, tested with the real SDK. */
import OpenAI from 'openai';
import type { Responses } from 'openai/resources/responses/responses';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/providers/server.ts';
import { collect, post } from './helpers.ts';

let upstream: FakeUpstream;
let openai: OpenAI;

beforeEach(async () => {
  upstream = await startFakeUpstream();
  openai = new OpenAI({ baseURL: upstream.openaiBaseUrl, apiKey: 'sk-test', maxRetries: 0 });
});

afterEach(() => upstream.close());

const weather: Responses.FunctionTool = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: false,
};
const clock: Responses.FunctionTool = { ...weather, name: 'get_time' };

/** Answers the calls of a reply. */
function outputsOf(reply: Responses.Response): Responses.ResponseInputItem[] {
  return reply.output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'foggy' }]
      : [],
  );
}

describe('a fake response', () => {
  it('has the requested model, text and usage, and repeats the request', async () => {
    const reply = await openai.responses.create({ model: 'm', input: 'Hi', temperature: 0.5 });

    expect(reply).toMatchObject({ model: 'm', status: 'completed', temperature: 0.5, store: true });
    expect(reply.output_text).toMatch(/^Hi there!/);
    expect(reply.usage).toMatchObject({ input_tokens: 12, output_tokens: 10, total_tokens: 22 });
  });

  it.each([
    ['text', { model: 'm' }],
    ['a summary of reasoning', { model: 'gpt-5', reasoning: { summary: 'auto' as const } }],
    ['two calls', { model: 'any-agent-1', tools: [weather, clock] }],
    ['a custom call', { model: 'm', tools: [{ type: 'custom' as const, name: 'run' }] }],
    ['a refusal', { model: 'demo-safety' }],
  ])('is the same streamed, with %s', async (_name, request) => {
    const whole = await openai.responses.create({ ...request, input: 'Hi' });
    upstream.reset();

    const stream = openai.responses.stream({ ...request, input: 'Hi' });
    const events = await collect(stream);
    const final = await stream.finalResponse();

    expect(events.map((event) => event.sequence_number)).toEqual([...events.keys()]);
    expect(final.output.map(({ type }) => type)).toEqual(whole.output.map(({ type }) => type));
    expect(final.usage).toEqual(whole.usage);
    expect(final.output_text).toBe(whole.output_text);
  });

  it('obeys the schema of structured output', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    const format = { type: 'json_schema' as const, name: 'place', schema };

    const reply = await openai.responses.create({ model: 'm', input: 'Hi', text: { format } });

    expect(JSON.parse(reply.output_text)).toEqual({ city: 'sample' });
  });

  it('makes two rounds of parallel calls before its last text', async () => {
    const tools = [weather, clock];
    const input: Responses.ResponseInputItem[] = [{ role: 'user', content: 'Hi' }];
    const replies: string[][] = [];
    for (let turn = 0; turn < 3; turn++) {
      const reply = await openai.responses.create({ model: 'any-agent-2', input, tools });
      replies.push(reply.output.map(({ type }) => type));
      input.push(...reply.output.filter(isInput), ...outputsOf(reply));
    }

    expect(replies).toEqual([
      ['reasoning', 'function_call', 'function_call'],
      ['reasoning', 'function_call', 'function_call'],
      ['reasoning', 'message'],
    ]);
  });
});

function isInput(
  item: Responses.ResponseOutputItem,
): item is Responses.ResponseOutputItem & Responses.ResponseInputItem {
  return ['reasoning', 'function_call', 'message'].includes(item.type);
}

describe('what a fake OpenAI keeps', () => {
  it('is found by id, and forgotten when it is deleted', async () => {
    const { id } = await openai.responses.create({ model: 'm', input: 'Hi' });
    const next = await openai.responses.create({
      model: 'm',
      input: 'More',
      previous_response_id: id,
    });

    expect((await openai.responses.retrieve(id)).output_text).toMatch(/^Hi there!/);
    const { data } = await openai.responses.inputItems.list(next.id);
    expect(data.map((item) => item.type)).toEqual(['message', 'message', 'message']);

    await openai.responses.delete(id);
    await expect(openai.responses.retrieve(id)).rejects.toThrow(/not found/);
  });

  it('are items to which a later input may refer', async () => {
    const { output } = await openai.responses.create({ model: 'm', input: 'Hi' });
    const id = output[0]?.id ?? '';
    const input = [
      { role: 'user' as const, content: 'Hi' },
      { type: 'item_reference' as const, id },
    ];

    const reply = await openai.responses.create({ model: 'm', input });

    expect(reply.status).toBe('completed');
  });

  it('is nothing with `store: false`', async () => {
    const { id, output } = await openai.responses.create({ model: 'm', input: 'Hi', store: false });
    const input = [{ type: 'item_reference' as const, id: output[0]?.id ?? '' }];

    await expect(openai.responses.retrieve(id)).rejects.toThrow(/not found/);
    await expect(openai.responses.create({ model: 'm', input })).rejects.toMatchObject({
      status: 404,
      param: 'input',
    });
  });
});

describe('a fake OpenAI refuses', () => {
  const user = { role: 'user', content: 'Hi' };
  const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' };
  const output = { type: 'function_call_output', call_id: 'call_1', output: 'ok' };

  it.each([
    ['no input', undefined, 400, 'Missing required parameter'],
    ['a call without output', [user, call], 400, 'No tool output found for function call call_1.'],
    ['an output without a call', [user, output], 400, 'No tool call found'],
    ['reasoning that it did not keep', [user, { type: 'reasoning', id: 'rs_9' }], 404, 'rs_9'],
  ])('%s', async (_name, input, status, message) => {
    const answer = await post(upstream, '/v1/responses', { model: 'm', input });

    expect(answer.status).toBe(status);
    expect(await answer.text()).toContain(message);
  });
});

describe('the other paths of a fake Responses API', () => {
  it('count input tokens, and compact a conversation', async () => {
    const count = await openai.responses.inputTokens.count({ model: 'm', input: 'Hi' });
    const compacted = await openai.responses.compact({ model: 'gpt-5', input: 'Hi' });

    expect(count).toEqual({ object: 'response.input_tokens', input_tokens: 12 });
    expect(compacted.output.map(({ type }) => type)).toEqual(['message', 'compaction']);
  });
});

describe('faults by model name', () => {
  it('fail a stream half-way, as recorded', async () => {
    const stream = openai.responses.stream({ model: 'demo-error-event', input: 'Hi' });

    await expect(collect(stream)).rejects.toThrow(/The server had an error/);
  });
});
