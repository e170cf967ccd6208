// suite: quick
/** Tool results are moved directly after their calls. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type {
  MediaPart,
  Part,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from '../../../src/canonical/request.ts';
import { joinedTurns, pairedTurns, resultText } from '../../../src/canonical/tool-results.ts';

describe('the results of tools', () => {
  it('follow their calls in call order', () => {
    const turns = [assistant(call('a'), call('b')), user(result('b')), user(result('a'))];

    const paired = pairedTurns(turns);

    expect(outline(paired.turns)).toEqual([
      'assistant: call a, call b',
      'user: result a, result b',
    ]);
    expect(paired.dropped).toEqual([]);
  });

  it('are alone in a turn, with other user parts in a separate one', () => {
    const turns = [
      assistant(call('a')),
      user(textMessage('before'), result('a'), textMessage('after')),
    ];

    const paired = pairedTurns(turns);

    expect(outline(paired.turns)).toEqual([
      'assistant: call a',
      'user: result a',
      'user: before, after',
    ]);
  });

  it('have the name of the called function', () => {
    const nameless: ToolResultPart = { ...result('a'), name: undefined };

    const { turns } = pairedTurns([assistant(call('a')), user(nameless)]);

    expect(turns[1]?.parts).toMatchObject([{ kind: 'tool_result', name: 'function a' }]);
  });

  it('are errors if they are missing', () => {
    const { turns, dropped } = pairedTurns([assistant(call('a'), call('b')), user(result('b'))]);

    expect(turns[1]?.parts).toMatchObject([
      { callId: 'a', name: 'function a', isError: true, content: [{ text: 'no result' }] },
      { callId: 'b', isError: false },
    ]);
    expect(dropped).toEqual([]);
  });

  it('are errors also at the end of a history', () => {
    const { turns } = pairedTurns([user(textMessage('go')), assistant(call('a'))]);

    expect(outline(turns)).toEqual(['user: go', 'assistant: call a', 'user: error a']);
  });

  it('become text and are reported if there is no call', () => {
    const orphan = { ...result('x', 'it rains'), name: 'weather', at: 'messages[0]' };

    const { turns, dropped } = pairedTurns([user(orphan, textMessage('so?'))]);

    expect(outline(turns)).toEqual(['user: [tool result weather]: it rains, so?']);
    expect(dropped).toEqual(['messages[0]']);
  });

  it('keep their images even as text', () => {
    const orphan = { ...result('x'), content: [picture, ...result('x', 'seen').content] };

    const { turns } = pairedTurns([user(orphan)]);

    expect(turns[0]?.parts).toMatchObject([{ text: '[tool result function x]: seen' }, picture]);
  });

  it('count by the last of two, and the other is reported', () => {
    const first = { ...result('a', 'old'), at: 'messages[1]' };
    const turns = [assistant(call('a')), user(first), user(result('a', 'new'))];

    const paired = pairedTurns(turns);

    expect(outline(paired.turns)).toEqual(['assistant: call a', 'user: new a']);
    expect(paired.dropped).toEqual(['messages[1]']);
  });

  it('belong to the last turn with a call of their id, as providers reuse ids', () => {
    const turns = [
      assistant(call('a')),
      user(result('a', 'one')),
      assistant(call('a')),
      user(result('a', 'two')),
    ];

    expect(outline(pairedTurns(turns).turns)).toEqual([
      'assistant: call a',
      'user: one a',
      'assistant: call a',
      'user: two a',
    ]);
  });

  it('are distributed in order to calls of one turn that share an id', () => {
    const turns = [assistant(call('a'), call('a')), user(result('a', 'one'), result('a', 'two'))];

    const { turns: paired } = pairedTurns(turns);

    expect(outline(paired)).toEqual(['assistant: call a, call a', 'user: one a, two a']);
  });

  it('are found after several assistant turns', () => {
    const turns = [assistant(call('a')), assistant(call('b')), user(result('a'), result('b'))];

    expect(outline(pairedTurns(turns).turns)).toEqual([
      'assistant: call a, call b',
      'user: result a, result b',
    ]);
  });

  it('are recognized by their kind, not by the role of their turn', () => {
    const turns = [assistant(call('a')), assistant(result('a'))];

    const { turns: paired } = pairedTurns(turns);

    expect(outline(paired)).toEqual(['assistant: call a', 'user: result a']);
  });

  it('do not change a history without tools', () => {
    const turns = [
      user(textMessage('hi')),
      assistant(textMessage('')),
      { role: 'system', parts: [] } as const,
    ];

    expect(pairedTurns(turns)).toEqual({ turns, dropped: [] });
  });

  it('are text without a separator', () => {
    expect(resultText([text('a\n'), picture, text(' b')])).toBe('a\n b');
  });

  it('follow every call exactly once in any history, and nothing else is lost', () => {
    const id = fc.constantFrom('a', 'b', 'c', '__proto__');
    const part = fc.oneof(id.map(call), id.map(result), fc.string().map(textMessage));
    const turn = fc.record({
      role: fc.constantFrom('user', 'assistant', 'system'),
      parts: fc.array(part, { maxLength: 4 }),
    });
    const law = fc.property(fc.array(turn, { maxLength: 8 }), (history) => {
      const { turns, dropped } = pairedTurns(history);

      for (const [index, { role, parts }] of turns.entries()) {
        const calls = role === 'assistant' ? parts.filter(({ kind }) => kind === 'tool_call') : [];
        if (calls.length > 0) expect(answered(turns[index + 1])).toEqual(calls.map(idOf));
        expect(role === 'assistant' && parts.some(({ kind }) => kind === 'tool_result')).toBe(
          false,
        );
      }
      expect(texts(turns.flatMap(plainParts))).toEqual(texts(history.flatMap(plainParts)));
      const again = pairedTurns(turns);
      expect(joinedTurns(again.turns)).toEqual(joinedTurns(turns));
      expect(again.dropped).toEqual([]);
      expect(dropped.length).toBeLessThanOrEqual(resultsIn(history));
    });

    fc.assert(law, { numRuns: 1000 });
  });
});

const picture: MediaPart = {
  kind: 'media',
  at: 'p',
  mimeType: 'image/png',
  source: { type: 'base64', data: 'iVBORw0KGgo=' },
};

function text(words: string): TextPart {
  return { kind: 'text', text: words, at: 't' };
}

function textMessage(words: string): Part {
  return text(words);
}

function call(id: string): ToolCallPart {
  return { kind: 'tool_call', id, name: `function ${id}`, arguments: '{}', at: `call ${id}` };
}

function result(id: string, words = 'result'): ToolResultPart {
  const name = `function ${id}`;
  const content = [text(words)];
  return { kind: 'tool_result', callId: id, name, content, isError: false, at: `result ${id}` };
}

function user(...parts: readonly Part[]): Turn {
  return { role: 'user', parts };
}

function assistant(...parts: readonly Part[]): Turn {
  return { role: 'assistant', parts };
}

function outline(turns: readonly Turn[]): readonly string[] {
  return turns.map(({ role, parts }) => `${role}: ${parts.map(outlineOf).join(', ')}`);
}

function outlineOf(part: Part): string {
  switch (part.kind) {
    case 'tool_call':
      return `call ${part.id}`;
    case 'tool_result':
      return `${part.isError ? 'error' : resultText(part.content)} ${part.callId}`;
    case 'media':
    case 'provider_specific':
      return part.kind;
    case 'text':
    case 'reasoning':
      return part.text;
  }
}

function idOf(part: Part): string {
  if (part.kind === 'tool_call') return part.id;
  return part.kind === 'tool_result' ? part.callId : '';
}

function answered(turn: Turn | undefined): readonly string[] {
  return (turn?.parts ?? []).map((part) => (part.kind === 'tool_result' ? part.callId : part.kind));
}

function plainParts({ parts }: Turn): readonly Part[] {
  return parts.filter(({ kind, at }) => kind !== 'tool_result' && at === 't');
}

function texts(parts: readonly Part[]): readonly string[] {
  return parts.map(outlineOf);
}

function resultsIn(turns: readonly Turn[]): number {
  return turns.flatMap(({ parts }) => parts).filter(({ kind }) => kind === 'tool_result').length;
}
