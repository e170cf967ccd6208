// suite: quick
/** The turns of a Messages request: calls and their results, compactions and instructions. */
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { refusalOf } from '../responses/read.ts';
import { brief, call, pdf, png, question, result, text } from './blocks.ts';
import { assistant, conversation, plainBody, readBody, user } from './read.ts';

describe('tool calls and their results', () => {
  it('stand in the order of the calls, before all else that the user says', () => {
    const { turns, dropped } = conversation(
      question,
      assistant(text('Both.'), call('a', 'f'), call('b', 'g')),
      user(text('before'), result('b', 'B'), text('between'), result('a', 'A'), text('behind')),
    );

    expect(turns.map(({ role, parts }) => [role, parts.map(brief)])).toEqual([
      ['user', ['Hi']],
      ['assistant', ['Both.', 'call a', 'call b']],
      ['user', ['result a of f: A', 'result b of g: B']],
      ['user', ['before', 'between', 'behind']],
    ]);
    expect(dropped).toEqual([]);
  });

  it('may be in several messages of one role', () => {
    const { turns } = conversation(
      question,
      assistant(call('a')),
      assistant(call('b')),
      user(result('b', 'B')),
      { role: 'system', content: 'Be quick.' },
      user(result('a', 'A')),
    );

    expect(turns.map(({ role, parts }) => [role, parts.map(brief)])).toEqual([
      ['user', ['Hi']],
      ['assistant', ['call a', 'call b']],
      ['user', ['result a of f: A', 'result b of f: B']],
      ['system', ['Be quick.']],
    ]);
  });

  it('are completed where one is missing, and become text where there is no call', () => {
    const { turns, dropped } = conversation(question, assistant(call('a')), user(result('b', 'B')));

    expect(turns.map(({ parts }) => parts.map(brief))).toEqual([
      ['Hi'],
      ['call a'],
      ['result a of f: no result'],
      ['[tool result unknown]: B'],
    ]);
    expect(dropped).toEqual(['messages[2].content[0]']);
  });

  it('have text, media, an error or nothing', () => {
    const contentOf = (content: JsonValue | undefined, isError?: boolean) => {
      const block = { ...result('a', content), ...(isError ? { is_error: true } : {}) };
      const parts = conversation(question, assistant(call()), user(block)).turns[2]?.parts ?? [];
      return parts[0]?.kind === 'tool_result' ? parts[0] : undefined;
    };

    expect(contentOf(undefined)).toMatchObject({ content: [], isError: false });
    expect(contentOf(null)).toMatchObject({ content: [] });
    expect(contentOf([])).toMatchObject({ content: [] });
    expect(contentOf('ok', true)).toMatchObject({ content: [{ text: 'ok' }], isError: true });
    expect(
      contentOf([text('a'), { type: 'image', source: png }, { type: 'document', source: pdf }]),
    ).toMatchObject({ content: [{ text: 'a' }, { kind: 'media' }, { kind: 'media' }] });
    expect(contentOf([{ type: 'tool_reference', tool_name: 'find' }])).toMatchObject({
      content: [{ text: 'Tool find is available.\n' }],
    });
  });

  it.each<[JsonObject, string]>([
    [{ type: 'tool_use', name: 'f', input: {} }, 'messages[1].content[0].id'],
    [{ type: 'tool_use', id: 'a', input: {} }, 'messages[1].content[0].name'],
    [{ type: 'tool_use', id: 'a', name: 'f' }, 'messages[1].content[0].input'],
    [{ type: 'tool_use', id: 'a', name: 'f', input: '{}' }, 'messages[1].content[0].input'],
    [{ type: 'tool_use', id: 'a', name: 'f', input: [] }, 'messages[1].content[0].input'],
  ])('%j is refused', (block, param) => {
    expect(refusalOf(() => conversation(question, assistant(block)))).toMatchObject({
      code: 'invalid_request',
      param,
    });
  });

  it.each<[JsonObject, string]>([
    [{ type: 'tool_result', content: 'a' }, 'messages[0].content[0].tool_use_id'],
    [{ ...result('a'), is_error: 'yes' }, 'messages[0].content[0].is_error'],
    [result('a', 7), 'messages[0].content[0].content'],
  ])('%j is refused', (block, param) => {
    expect(refusalOf(() => conversation(user(block)))).toMatchObject({ param });
  });

  it('a call by code of Anthropic is shown as one of the model, which is listed', () => {
    const byCode = { ...call(), caller: { type: 'code_execution_20250825', tool_id: 's' } };
    const direct = { ...call(), caller: { type: 'direct' } };

    expect(conversation(question, assistant(byCode), user(result('a'))).dropped).toEqual([
      'messages.content.caller.type',
      'messages.content.caller.tool_id',
    ]);
    expect(conversation(question, assistant(direct), user(result('a'))).dropped).toEqual([]);
  });
});

describe('a compaction', () => {
  const summary = { type: 'compaction', content: 'They said Hi.' };

  it('stands for all that was said before it', () => {
    const unreadable = user({ type: 'container_upload', file_id: 'f' });
    const { system, turns, dropped } = readBody({
      ...plainBody,
      system: 'Be brief.',
      messages: [unreadable, assistant(text('Hello.'), summary, text('Yes?')), user(text('What?'))],
    }).request;

    expect(system).toMatchObject([{ text: 'Be brief.' }]);
    expect(turns.map(({ role, parts }) => [role, parts.map(brief)])).toEqual([
      ['user', ['They said Hi.']],
      ['assistant', ['Yes?']],
      ['user', ['What?']],
    ]);
    expect(dropped).toEqual([]);
  });

  it('counts if it is the last one, and has succeeded', () => {
    const failed = { type: 'compaction', content: null };
    const { turns } = conversation(
      question,
      assistant({ type: 'compaction', content: 'older' }),
      question,
      assistant(summary),
      question,
      assistant(failed, text('Yes?')),
    );

    expect(turns.flatMap(({ parts }) => parts.map(brief))).toEqual(['They said Hi.', 'Hi', 'Yes?']);
  });

  it('is refused if only Anthropic can read it', () => {
    const sealed = { type: 'compaction', content: null, encrypted_content: 'ZGF0YQ==' };

    expect(refusalOf(() => conversation(question, assistant(sealed), question))).toMatchObject({
      code: 'not_portable',
      param: 'messages[1].content[0]',
    });
    const readable = { ...summary, encrypted_content: 'ZGF0YQ==' };
    expect(conversation(question, assistant(readable), question).dropped).toEqual([
      'messages.content.encrypted_content',
    ]);
  });
});

describe('an instruction among the messages', () => {
  it('is a turn of its own, and before all others a part of the system prompt', () => {
    const { system, turns, dropped } = readBody({
      ...plainBody,
      system: 'a',
      messages: [
        { role: 'system', content: 'b' },
        question,
        { role: 'system', content: [text('c')], clear_at: 'end', output_config: { effort: 'low' } },
      ],
    }).request;

    expect(system.map(({ text: one }) => one)).toEqual(['a', 'b']);
    expect(turns.map(({ role }) => role)).toEqual(['user', 'system']);
    expect(dropped).toEqual(['messages.clear_at', 'messages.output_config']);
  });
});
