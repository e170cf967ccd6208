// suite: quick
/** Members to which a provider answers 400 are not sent to it. */
import { describe, expect, it } from 'vitest';
import { anthropicClient } from '../../src/dialects/anthropic/client/codec.ts';
import { openaiClient } from '../../src/dialects/openai/client/codec.ts';
import { member } from '../../src/json.ts';
import { functionTool, textPart } from '../support/codec.ts';
import { assistant, plainRequest, user } from '../support/plain-request.ts';
import * as anthropic from './anthropic/client.ts';
import * as gemini from './gemini/client.ts';
import * as openai from './openai/client.ts';

const thinking = (effort: 'none' | 'minimal') => ({
  reasoning: { effort, budgetTokens: undefined, includeThoughts: undefined },
});

describe('a request not to think', () => {
  it.each([
    ['claude-fable-5'],
    ['claude-mythos-5'],
  ])('is the lowest effort of %s, which always thinks', (model) => {
    const { body, dropped } = anthropic.written(thinking('none'), anthropic.target(model));

    expect(member(body, 'thinking')).toEqual({ type: 'adaptive' });
    expect(member(body, 'output_config')).toEqual({ effort: 'low' });
    expect(dropped).toEqual(['reasoning_effort']);
  });

  it('is the lowest effort for a native caller who sets a budget of 0', () => {
    const reasoning = { effort: undefined, budgetTokens: 0, includeThoughts: undefined };

    const { body } = anthropic.written({ reasoning }, anthropic.target('claude-fable-5'));

    expect(member(body, 'thinking')).toEqual({ type: 'adaptive' });
  });

  it('switches thinking off if the model supports it', () => {
    const { body, dropped } = anthropic.written(thinking('none'), anthropic.target());

    expect(member(body, 'thinking')).toEqual({ type: 'disabled' });
    expect(dropped).toEqual([]);
  });
});

describe('the efforts of GPT-5', () => {
  it.each([
    ['gpt-5', 'none', 'minimal'],
    ['gpt-5-mini', 'none', 'minimal'],
    ['gpt-5', 'minimal', 'minimal'],
    ['gpt-5.1', 'none', 'none'],
    ['gpt-5.1', 'minimal', 'low'],
    ['gpt-5.4', 'minimal', 'low'],
  ] as const)('%s gets %s as %s', (model, effort, sent) => {
    const members = openai.parametersFor(thinking(effort), {}, model);

    expect(members.reasoning_effort).toBe(sent);
    expect(openai.droppedFrom(thinking(effort), {}, model)).toHaveLength(effort === sent ? 0 : 1);
  });
});

describe('a prefilled reply', () => {
  it.each([
    ['claude-sonnet-4-6'],
    ['claude-opus-4-6'],
    ['claude-opus-5'],
  ])('is refused for %s, which answers 400 to it', (model) => {
    const turns = [user(anthropic.text('Hi')), assistant(anthropic.text('So'))];

    expect(() => anthropic.written({ turns }, anthropic.target(model))).toThrow(
      expect.objectContaining({ code: 'not_portable' }),
    );
  });
});

describe('a choice among functions that are not declared', () => {
  it.each(['auto', 'required'] as const)('is refused for Gemini like for others: %s', (mode) => {
    const toolChoice = { mode, names: ['look', 'listen'] };

    expect(() => gemini.begin({ tools: [gemini.look()], toolChoice })).toThrow(
      expect.objectContaining({ code: 'invalid_request', param: 'tool_choice' }),
    );
  });
});

describe('names of prototype members', () => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
  const parameters = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":' +
      '{"type":"object"}},"required":["__proto__"]}',
  );
  const args = '{"__proto__":{"a":12345678901234567890},"constructor":1}';
  const request = {
    ...plainRequest,
    turns: names.flatMap((name) => [
      user(textPart('Go.')),
      assistant({ kind: 'tool_call', at: 'call', id: name, name, arguments: args }),
      user({
        kind: 'tool_result',
        at: 'result',
        callId: name,
        name,
        content: [textPart(args)],
        isError: false,
      }),
    ]),
    tools: names.map((name) => functionTool(name, { parameters })),
  };

  it.each([
    ['anthropic', () => anthropicClient.begin(request, anthropic.target()).body],
    ['gemini', () => gemini.begin(request).body],
    ['gemma', () => gemini.begin(request, gemini.target('gemma-3')).body],
    ['openai', () => openaiClient.begin(request, openai.target()).body],
  ])('are valid names for %s, and arguments keep every digit', (_, bodyOf) => {
    const body = bodyOf();

    for (const name of names) expect(body).toContain(`"name":"${name}"`);
    expect(body).toMatch(/"properties":\{"__proto__":\{"type":"string"\}/i);
    expect(body).toContain('"required":["__proto__"]');
    expect(body.split('12345678901234567890').length - 1).toBeGreaterThanOrEqual(names.length);
  });
});
