// suite: slow host
/** The fake Anthropic refuses the tools, headers and thinking that the real one refuses. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { items, type JsonValue, member, parseJson } from '../../src/json.ts';
import type { FakeUpstream } from '../../src/testing/providers/server.ts';
import { post } from '../testing/helpers.ts';
import { startStrictUpstream } from './strict-upstream.ts';

let upstream: FakeUpstream;

beforeEach(async () => {
  upstream = await startStrictUpstream();
});

afterEach(() => upstream.close());

const hello = { role: 'user', content: 'Hi' };
const tool = (name: string) => ({ name, input_schema: { type: 'object' } });
const tools = [tool('get_weather'), tool('get_time')];
const marker = { cache_control: { type: 'ephemeral' } };
const enabled = { type: 'enabled', budget_tokens: 1024 };

async function send(
  fields: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<JsonValue | undefined> {
  const body = { model: 'claude-x', max_tokens: 2048, messages: [hello], ...fields };
  const response = await post(upstream, '/v1/messages', body, {
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
  });
  return parseJson(await response.text());
}

function refusalIn(document: JsonValue | undefined): JsonValue | undefined {
  return member(member(document, 'error'), 'message');
}

describe('tools', () => {
  it.each([
    ['two of one name', { tools: [tool('a'), tool('a')] }, 'must be unique'],
    ['a name with a space', { tools: [tool('a b')] }, 'tools.0.custom.name'],
    ['no schema', { tools: [{ name: 'a' }] }, 'input_schema: Field required'],
    [
      'a schema of another type',
      { tools: [{ name: 'a', input_schema: { type: 'array' } }] },
      "Input should be 'object'",
    ],
    ['a choice without tools', { tool_choice: { type: 'any' } }, 'while providing tools'],
    [
      'the choice of a tool that is not offered',
      { tools, tool_choice: { type: 'tool', name: 'b' } },
      "'b' not found",
    ],
    [
      'a forced call beside thinking',
      { tools, tool_choice: { type: 'any' }, thinking: enabled },
      'Thinking may not be enabled',
    ],
    [
      'a temperature beside thinking',
      { thinking: enabled, temperature: 0.5 },
      '`temperature` may only be set to 1',
    ],
    [
      'five cache markers',
      {
        tools: [{ ...tool('a'), ...marker }],
        system: [1, 2, 3, 4].map((n) => ({ type: 'text', text: `${n}`, ...marker })),
      },
      'A maximum of 4 blocks with cache_control may be provided. Found 5.',
    ],
  ])('refuses %s', async (_name, fields, message) => {
    expect(refusalIn(await send(fields))).toEqual(expect.stringContaining(message));
  });

  it('counts no member of a schema as a marker', async () => {
    const properties = { cache_control: { type: 'string' } };
    const named = ['a', 'b', 'c', 'd', 'e'].map((name) => ({
      name,
      input_schema: { type: 'object', properties },
    }));

    expect(refusalIn(await send({ tools: named }))).toBeUndefined();
  });
});

it('refuses max_tokens where only tokens are counted', async () => {
  const body = { model: 'claude-x', max_tokens: 1, messages: [hello] };
  const response = await post(upstream, '/v1/messages/count_tokens', body, {
    headers: { 'anthropic-version': '2023-06-01' },
  });

  expect(refusalIn(parseJson(await response.text()))).toBe(
    'max_tokens: Extra inputs are not permitted',
  );
});

describe('headers', () => {
  const context = { context_management: { edits: [] } };
  const document = { source: { type: 'text', media_type: 'text/plain', data: 'a' } };

  it.each([
    ['an unknown version', {}, { 'anthropic-version': '2024-01-01' }, 'is not a valid version'],
    ['a flag that is no beta', {}, { 'anthropic-beta': 'a-2025-01-01,none' }, '`none`'],
    ['a member without its beta', context, {}, 'context_management: Extra inputs'],
    [
      'a temperature in version 2026-10-21',
      { temperature: 1 },
      { 'anthropic-version': '2026-10-21' },
      'temperature: Extra inputs',
    ],
    [
      'a document of the assistant in version 2026-10-21',
      { messages: [hello, { role: 'assistant', content: [{ type: 'document', ...document }] }] },
      { 'anthropic-version': '2026-10-21' },
      'messages.1.content',
    ],
  ])('refuses %s', async (_name, fields, headers, message) => {
    expect(refusalIn(await send(fields, headers))).toEqual(expect.stringContaining(message));
  });

  it('refuses a request without a version, in the format of all refusals', async () => {
    const response = await post(upstream, '/v1/messages', { model: 'claude-x', messages: [hello] });

    expect(response.status).toBe(400);
    expect(response.headers.get('request-id')).toMatch(/^req_/);
    expect(parseJson(await response.text())).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', message: 'anthropic-version: header is required' },
    });
  });

  it.each([
    [context, { 'anthropic-beta': 'claude-code-20250219, context-management-2025-06-27' }],
    [{ temperature: 1 }, {}],
    [{}, { 'anthropic-version': '2026-10-21' }],
  ])('accepts %j with %j', async (fields, headers) => {
    expect(refusalIn(await send(fields, headers))).toBeUndefined();
  });
});

describe.each([
  ['claude-x-agent-2', enabled],
  ['claude-x-redacted-agent-2', enabled],
  ['claude-x-redacted-agent-2', { type: 'adaptive', display: 'omitted' }],
])('thinking of %s with %j', (model, thinking) => {
  const resultsFor = (blocks: readonly JsonValue[]) =>
    blocks
      .filter((block) => member(block, 'type') === 'tool_use')
      .map((call) => ({ type: 'tool_result', tool_use_id: member(call, 'id'), content: 'a' }));
  const say = (messages: readonly unknown[]) => send({ model, tools, thinking, messages });

  /** The blocks of both rounds of calls, and the conversation that they are part of. */
  async function twoRounds() {
    const first = items(member(await say([hello]), 'content'));
    const between = [
      hello,
      { role: 'assistant', content: first },
      { role: 'user', content: resultsFor(first) },
    ];
    const second = items(member(await say(between), 'content'));
    const conversation = (blocks: readonly JsonValue[]) => [
      ...between,
      { role: 'assistant', content: blocks },
      { role: 'user', content: resultsFor(blocks) },
    ];
    return { first, second, conversation };
  }

  const isThought = (block: JsonValue) =>
    ['thinking', 'redacted_thinking'].includes(String(member(block, 'type')));

  it('answers after two rounds that come back unchanged, and later prompts too', async () => {
    const { second, conversation } = await twoRounds();
    const messages = conversation(second);

    const answer = await say(messages);
    const blocks = items(member(answer, 'content'));
    const next = await say([...messages, { role: 'assistant', content: blocks }, hello]);

    expect(blocks.at(-1)).toMatchObject({ type: 'text', text: expect.stringContaining('57°F') });
    expect(member(next, 'stop_reason')).toBe('tool_use');
  });

  it('refuses blocks that are moved after the calls, of another round, or changed', async () => {
    const { first, second, conversation } = await twoRounds();
    const calls = second.filter((block) => !isThought(block));
    const old = first.filter(isThought);
    const changed = JSON.parse(JSON.stringify(second).replace(/"(signature|data)":"./g, '"$1":"!'));

    const moved = await say(conversation([...calls, ...second.filter(isThought)]));
    const repeated = await say(conversation([...old, ...calls]));
    const altered = await say(conversation(changed));

    expect(refusalIn(moved)).toMatch(/cannot be modified|Expected `thinking`/);
    expect(refusalIn(repeated)).toMatch(/cannot be modified/);
    expect(refusalIn(altered)).toMatch(/Invalid `(?:signature|data)`/);
  });

  it('refuses calls that lost their blocks only where thinking is enabled', async () => {
    const { second, conversation } = await twoRounds();

    const left = await say(conversation(second.filter((block) => !isThought(block))));

    const isEnabled = thinking.type === 'enabled';
    expect(refusalIn(left)).toEqual(
      isEnabled ? expect.stringContaining('Expected `thinking`') : undefined,
    );
  });
});
