// suite: quick
/** Names of functions that a vendor streams in pieces, equal ones included, or repeats in each. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { callsOf, chunk, eventsOfStream, exchange } from '../openai/client.ts';

/** Names of few letters, so that pieces are often equal. */
const name = fc.stringMatching(/^[ab]{1,8}$/);
const history = fc.record({ name, others: fc.uniqueArray(name, { maxLength: 3 }) });

/** A call whose name comes in these pieces, before its arguments. */
function called(pieces: readonly string[], declared: readonly string[]): readonly string[] {
  const rest = {
    kind: 'function',
    description: undefined,
    parameters: {},
    strict: undefined,
  } as const;
  const tools = declared.map((one) => ({ ...rest, name: one, at: 'tools' }));
  const piece = (members: JsonObject) =>
    chunk({ tool_calls: [{ index: 0, type: 'function', ...members }] });
  const stream = [
    piece({ id: 'call_1', function: { name: pieces[0] ?? '', arguments: '' } }),
    ...pieces.slice(1).map((part) => piece({ function: { name: part } })),
    piece({ function: { arguments: '{}' } }),
    chunk({}, 'tool_calls'),
  ];
  return callsOf(eventsOfStream(stream, exchange({ tools }))).map((call) => call.name);
}

it('a name in pieces is the declared one, unless its first piece is declared too', () => {
  const law = fc.property(history, fc.array(fc.nat(7), { maxLength: 3 }), (given, cuts) => {
    const { name: whole, others } = given;
    const ends = [...new Set(cuts.filter((cut) => cut > 0 && cut < whole.length)), whole.length];
    ends.sort((a, b) => a - b);
    const pieces = ends.map((end, index) => whole.slice(ends[index - 1] ?? 0, end));
    const declared = [...new Set([whole, ...others])];
    const isPlain = ends.slice(0, -1).every((end) => !declared.includes(whole.slice(0, end)));
    fc.pre(isPlain);

    expect(called(pieces, declared)).toEqual([whole]);
  });

  fc.assert(law, { numRuns: 500 });
});

it('a name that is repeated in each piece stays that name', () => {
  const law = fc.property(history, fc.integer({ min: 2, max: 4 }), (given, times) => {
    const { name: whole, others } = given;

    const names = called(new Array(times).fill(whole), [...new Set([whole, ...others])]);

    expect(names).toEqual([whole]);
  });

  fc.assert(law, { numRuns: 200 });
});
