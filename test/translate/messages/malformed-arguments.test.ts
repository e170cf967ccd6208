// suite: slow
/** Arguments of a call that are not one JSON object: a stream and a whole message agree. */
import { expect, it } from 'vitest';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import { type JsonValue, member } from '../../../src/json.ts';
import { someOf } from '../../support/sample.ts';
import { blocksOf, showing, streamOf, wholeOf } from './writer.ts';

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

const eager = showing('shown', 'look');

it('malformed arguments are the same streamed and whole, in whatever pieces they come', () => {
  for (const sequence of someOf(sequences)) {
    const joined = sequence.join('');
    const cuts = [sequence, [joined], [...joined]];
    for (const texts of cuts) {
      const events = eventsOf(texts);
      const rows = events.map((event) => [event]);
      const input = inputOf(wholeOf(events)) ?? null;

      expect(inputOf(wholeOf(eventsOf([joined]))), joined).toEqual(input);
      expect(inputOf(streamOf(rows).message), joined).toEqual(input);
      // Text that is not an object can't be taken back once it was streamed.
      const streamed = inputOf(streamOf(rows, eager).message) ?? null;
      const [raw, begun] = [member(input, '_raw'), member(streamed, '_raw')];
      if (raw === undefined) expect(streamed, joined).toEqual(input);
      else expect(String(raw).startsWith(String(begun)), joined).toBe(true);
    }
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
