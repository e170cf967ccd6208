// suite: quick
/** The turns of a Messages request: calls and their results, compactions and instructions. */
import { describe, expect, it } from 'vitest';
import { refusalOf } from '../responses/read.ts';
import { brief, call, question, result, text } from './blocks.ts';
import { assistant, conversation, plainBody, readBody, user } from './read.ts';

describe('tool calls and their results', () => {
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
