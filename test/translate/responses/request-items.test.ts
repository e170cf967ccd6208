// suite: quick
/** The items of a Responses request: what each becomes, and in which turn. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { conversation, refusalOf } from './read.ts';

const user: JsonObject = { role: 'user', content: 'Hi' };
const developer: JsonObject = { role: 'developer', content: 'Be brief.' };
const assistant = (text: string): JsonObject => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});
const call = (id: string): JsonObject => ({
  type: 'function_call',
  call_id: id,
  name: `f_${id}`,
  arguments: `{"of":"${id}"}`,
});
const output = (id: string): JsonObject => ({
  type: 'function_call_output',
  call_id: id,
  output: `result ${id}`,
});

/** Turns in short: `user: Hi`, `assistant: [a] [b]`, `user: (a)`. */
function shape(...input: readonly JsonObject[]): readonly string[] {
  return conversation(...input).turns.map(({ role, parts }) => {
    const texts = parts.map((part) => {
      if (part.kind === 'tool_call') return `[${part.id}]`;
      if (part.kind === 'tool_result')
        return part.isError ? `(no ${part.callId})` : `(${part.callId})`;
      return part.kind === 'text' || part.kind === 'reasoning' ? part.text : part.kind;
    });
    return `${role}: ${texts.join(' ')}`;
  });
}

describe('turns', () => {
  it('parallel calls are one turn, later ones another', () => {
    expect(shape(user, call('a'), call('b'), output('a'), output('b'))).toEqual([
      'user: Hi',
      'assistant: [a] [b]',
      'user: (a) (b)',
    ]);
    expect(shape(user, call('a'), output('a'), call('b'), output('b'))).toEqual([
      'user: Hi',
      'assistant: [a]',
      'user: (a)',
      'assistant: [b]',
      'user: (b)',
    ]);
  });

  it('results follow their calls in the order of these', () => {
    expect(shape(user, call('a'), call('b'), output('b'), output('a'))).toEqual([
      'user: Hi',
      'assistant: [a] [b]',
      'user: (a) (b)',
    ]);
  });

  it('a message of the model between a call and its result is part of the turn', () => {
    expect(
      shape(
        user,
        assistant('one'),
        call('a'),
        assistant('two'),
        call('b'),
        output('a'),
        output('b'),
      ),
    ).toEqual(['user: Hi', 'assistant: one [a] two [b]', 'user: (a) (b)']);
  });

  it('an instruction between a call and its result waits for the result', () => {
    expect(shape(user, call('a'), developer, output('a'), assistant('x'))).toEqual([
      'user: Hi',
      'assistant: [a]',
      'user: (a)',
      'system: Be brief.',
      'assistant: x',
    ]);
    expect(
      shape(user, call('a'), developer, call('b'), output('a'), developer, output('b')),
    ).toEqual([
      'user: Hi',
      'assistant: [a] [b]',
      'user: (a) (b)',
      'system: Be brief.',
      'system: Be brief.',
    ]);
  });

  it('an instruction elsewhere keeps its place', () => {
    expect(shape(user, assistant('x'), developer, user)).toEqual([
      'user: Hi',
      'assistant: x',
      'system: Be brief.',
      'user: Hi',
    ]);
    expect(shape(user, call('a'), output('a'), developer, user)).toEqual([
      'user: Hi',
      'assistant: [a]',
      'user: (a)',
      'system: Be brief.',
      'user: Hi',
    ]);
  });

  it('a message of the user between a call and its result comes after the result', () => {
    expect(shape(user, call('a'), user, output('a'))).toEqual([
      'user: Hi',
      'assistant: [a]',
      'user: (a)',
      'user: Hi',
    ]);
  });

  it('a call without a result gets an error, a result without a call becomes text', () => {
    expect(shape(user, call('a'), user)).toEqual([
      'user: Hi',
      'assistant: [a]',
      'user: (no a)',
      'user: Hi',
    ]);
    const { turns, dropped } = conversation(user, output('x'));
    expect(turns.at(-1)?.parts).toMatchObject([
      { kind: 'text', text: '[tool result unknown]: result x' },
    ]);
    expect(dropped).toEqual(['input[1]']);
  });

  it('ids that repeat from turn to turn belong to the latest call', () => {
    const again = { ...output('a'), output: 'again' };
    const { turns } = conversation(user, call('a'), output('a'), call('a'), again);

    expect(
      turns.flatMap(({ parts }) => parts).filter(({ kind }) => kind === 'tool_result'),
    ).toMatchObject([{ content: [{ text: 'result a' }] }, { content: [{ text: 'again' }] }]);
  });

  it('an empty message of the model is ignored', () => {
    expect(shape(user, { role: 'assistant', content: '' }, call('a'), output('a'))).toEqual([
      'user: Hi',
      'assistant: [a]',
      'user: (a)',
    ]);
  });
});

describe('other items', () => {
  it.each([
    'web_search_call',
    'file_search_call',
    'code_interpreter_call',
    'image_generation_call',
    'mcp_list_tools',
    'mcp_call',
    'tool_search_call',
    'tool_search_output',
  ])('%s is left out and listed, and does not end the turn', (type) => {
    const { turns, dropped } = conversation(
      user,
      assistant('a'),
      { type, id: 'x' },
      assistant('b'),
      user,
    );

    expect(turns.map(({ parts }) => parts.length)).toEqual([1, 2, 1]);
    expect(dropped).toEqual(['input[2]']);
  });
});

describe('limits', () => {
  const items = (count: number) => Array.from({ length: count }, () => user);

  it('10,000 items', () => {
    expect(conversation(...items(10_000)).turns).toHaveLength(10_000);
    expect(refusalOf(() => conversation(...items(10_001)))).toMatchObject({
      code: 'too_complex',
      param: 'input',
    });
  });

  it('50,000 values of JSON inside strings', () => {
    const list = (count: number) => `[${Array.from({ length: count }, () => '0').join(',')}]`;
    const results = (count: number) => ({ ...output('a'), output: list(count) });

    expect(conversation(user, call('a'), results(49_997)).turns).toHaveLength(3);
    expect(refusalOf(() => conversation(user, call('a'), results(49_998)))).toMatchObject({
      code: 'too_complex',
      param: 'input[2].output',
    });
  });
});
