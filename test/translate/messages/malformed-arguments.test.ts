/** Arguments of a call that are no JSON object, or several: a stream and a whole message agree. */
import { expect, it } from 'vitest';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import { type JsonValue, member } from '../../../src/json.ts';
import { blocksOf, streamOf, wholeOf } from './writer.ts';

const choice = 0;
const begin: ContentEvent = {
  type: 'tool_begin',
  choice,
  call: 0,
  id: 'c0',
  name: 'look',
  arguments: '',
};

const first = '{"a":{"b":"}{\\""},"c":[1,{}]}';
const pieces = ['{}', ' ', '{', '}', first, '{"d":2}', 'x', ',', '"', '\\'] as const;
/** Every sequence of up to three pieces. */
const sequences = pieces.flatMap((one) => [
  [one],
  ...pieces.flatMap((two) => [[one, two], ...pieces.map((three) => [one, two, three])]),
]);
const eventsOf = (texts: readonly string[]): readonly ContentEvent[] => [
  begin,
  ...texts.map((value) => ({ type: 'tool_arguments', choice, call: 0, text: value }) as const),
  { type: 'tool_end', choice, call: 0 },
  { type: 'finish', choice, reason: 'stop' },
];
const inputOf = (message: JsonValue): JsonValue | undefined =>
  member(blocksOf(message)[0] ?? null, 'input');

it('malformed arguments are the same streamed and whole, in whatever pieces they come', () => {
  for (const sequence of sequences) {
    const joined = sequence.join('');
    const cuts = [sequence, [joined], [...joined]];
    const inputs = cuts.flatMap((texts) => {
      const events = eventsOf(texts);
      return [wholeOf(events), streamOf(events.map((event) => [event])).message].map(inputOf);
    });
    expect(new Set(inputs.map((input) => JSON.stringify(input))).size, joined).toBe(1);
  }
});

it.each([
  ['{}{"a":1}', { a: 1 }],
  ['{} {}{"a":1}', { a: 1 }],
  ['{"a":1}{"a":1}', { a: 1 }],
  ['{"a":1}]', { a: 1 }],
  ['{}', {}],
  ['{}x', { _raw: '{}x' }],
])('the arguments %s have one object that clients can parse', (args, input) => {
  expect(inputOf(wholeOf(eventsOf([args])))).toEqual(input);
  expect(inputOf(streamOf([eventsOf([...args])]).message)).toEqual(input);
});
