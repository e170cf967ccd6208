// suite: slow
/** Matching results to calls in native histories, most of which have no ids. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContentRequest, Part } from '../../../src/canonical/request.ts';
import { geminiServer } from '../../../src/dialects/gemini/server/codec.ts';
import type { JsonObject } from '../../../src/json.ts';

describe('a result without an id', () => {
  it('matches the first open call of its name, in any order of results', () => {
    const history = [
      model(call('a'), call('b'), call('b')),
      user(message('b', 1), message('a', 2), message('b', 3)),
    ];

    expect(pairs(history)).toEqual([
      ['call_t0p1', 'b', '{"n":1}'],
      ['call_t0p0', 'a', '{"n":2}'],
      ['call_t0p2', 'b', '{"n":3}'],
    ]);
  });

  it('matches by position if its name is unknown, and takes no call of a named result', () => {
    const history = [model(call('a'), call('b')), user(message('unknown', 1), message('a', 2))];

    expect(pairs(history)).toEqual([
      ['call_t0p1', 'b', '{"n":1}'],
      ['call_t0p0', 'a', '{"n":2}'],
    ]);
  });

  it('matches a call of its own step, even if an earlier one is open', () => {
    const history = [
      model(call('a')),
      user({ text: 'Never mind.' }),
      model(call('a')),
      user(message('a', 1)),
    ];

    expect(pairs(history)).toEqual([['call_t2p0', 'a', '{"n":1}']]);
  });

  it('finds calls in separate contents', () => {
    const history = [
      model(call('a')),
      model(call('b')),
      user(message('b', 1)),
      user(message('a', 2)),
    ];

    expect(pairs(history).map(([id]) => id)).toEqual(['call_t1p0', 'call_t0p0']);
  });
});

describe('a result with an id', () => {
  it('matches the call of that id, whatever its name and position', () => {
    const history = [
      model(call('a', 'x'), call('a', 'y')),
      user(message('z', 1, 'y'), message('a', 2)),
    ];

    expect(pairs(history)).toEqual([
      ['y', 'a', '{"n":1}'],
      ['x', 'a', '{"n":2}'],
    ]);
  });

  it('finds a call of an earlier step', () => {
    const history = [
      model(call('a', 'x')),
      user({ text: 'b' }),
      model(call('c', 'y')),
      user(message('a', 1, 'x')),
    ];

    expect(pairs(history)).toEqual([['x', 'a', '{"n":1}']]);
  });

  it('stays with its call when it comes twice', () => {
    const history = [model(call('a', 'x')), user(message('a', 1, 'x'), message('a', 2, 'x'))];

    expect(pairs(history).map(([id]) => id)).toEqual(['x', 'x']);
  });

  it('matches the right call if the model gave one id to two calls', () => {
    const history = [
      model(call('a', 'x'), call('b', 'x')),
      user(message('a', 1, 'x'), message('b', 2, 'x')),
    ];

    expect(pairs(history).map(([id]) => id)).toEqual(['x', 'call_t0p1']);
  });
});

describe('an unmatched result', () => {
  it('becomes user text, and is reported', () => {
    const request = read([
      model(call('a')),
      user(message('a', 1), { functionResponse: { name: 'b', response: { output: 'late' } } }),
    ]);

    expect(request.turns[1]).toMatchObject({
      role: 'user',
      parts: [{ kind: 'tool_result' }, { kind: 'text', text: '[tool result b]: late' }],
    });
    expect(request.dropped).toEqual(['contents[1].parts[1]']);
  });

  it('becomes text if there was no call at all', () => {
    const { turns } = read([user(message('a', 1))]);

    expect(turns[0]?.parts).toMatchObject([{ kind: 'text', text: '[tool result a]: {"n":1}' }]);
  });
});

it('permuted results without ids each get an existing id, exactly once and by their name', () => {
  const step = fc
    .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 6 })
    .chain((names) =>
      fc.record({
        names: fc.constant(names),
        order: fc.shuffledSubarray(names, { minLength: names.length }),
      }),
    );

  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), (steps) => {
      const history = steps.flatMap(({ names, order }) => [
        model(...names.map((name) => call(name))),
        user(...order.map((name, index) => message(name, index))),
      ]);

      const request = read(history);

      const calls = partsOf(request).filter((part) => part.kind === 'tool_call');
      const results = partsOf(request).filter((part) => part.kind === 'tool_result');
      expect(results.map(({ callId }) => callId).sort()).toEqual(calls.map(({ id }) => id).sort());
      expect(results.map(({ name }) => name)).toEqual(steps.flatMap(({ order }) => order));
      expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
      expect(read(history)).toEqual(request);
    }),
    { numRuns: 200 },
  );
});

it('very many calls of one name in one step are matched one to one', () => {
  const many = Array.from({ length: 20_000 }, (_, index) => index);

  const paired = pairs([
    model(...many.map(() => call('a'))),
    user(...many.map((index) => message('a', index))),
  ]);

  expect(paired).toHaveLength(many.length);
  expect(paired.at(-1)).toEqual(['call_t0p19999', 'a', '{"n":19999}']);
});

function model(...parts: readonly JsonObject[]): JsonObject {
  return { role: 'model', parts };
}

function user(...parts: readonly JsonObject[]): JsonObject {
  return { role: 'user', parts };
}

function call(name: string, id?: string): JsonObject {
  return { functionCall: { name, ...(id === undefined ? {} : { id }) } };
}

function message(name: string, n: number, id?: string): JsonObject {
  return { functionResponse: { name, response: { n }, ...(id === undefined ? {} : { id }) } };
}

function read(contents: readonly JsonObject[]): ContentRequest {
  return geminiServer.begin({ contents }, { streamed: false }).request;
}

function partsOf({ turns }: ContentRequest): readonly Part[] {
  return turns.flatMap(({ parts }) => parts);
}

/** Call id, name and text of every result. */
function pairs(contents: readonly JsonObject[]): readonly (readonly (string | undefined)[])[] {
  return partsOf(read(contents)).flatMap((part) => {
    if (part.kind !== 'tool_result') return [];
    const [first] = part.content;
    return [[part.callId, part.name, first?.kind === 'text' ? first.text : undefined]];
  });
}
