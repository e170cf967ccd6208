/** How vendors' servers stream the calls of a model: their habits, and every order of pieces. */
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { chunk } from '../openai/client.ts';

/** A call as the model made it. */
export interface ModelCall {
  readonly name: string;
  readonly args: string;
}

/** The pieces of a call; the vendor's server sends them in this order. */
type Pieces = readonly JsonObject[];

/** How a vendor's server streams calls. */
export interface Habit {
  /** Its pieces have no index, or all the same one, so that they can't be interleaved. */
  readonly isSequential: boolean;
  /** The pieces of one call, whose arguments are cut into these texts. */
  pieces(call: ModelCall, index: number, cut: readonly string[]): Pieces;
  /** The calls that such a server can send; all where it is undefined. */
  canSend?(call: ModelCall): boolean;
  /** Undefined if the server sends none. */
  idOf(index: number): string | undefined;
}

const idOf = (index: number): string => `id_${index}`;
const noId = (): undefined => undefined;
/** The pieces after the first one. */
export function more(index: number, cut: readonly string[]): Pieces {
  return cut.map((text) => ({ index, function: { arguments: text } }));
}
const isObject = ({ args }: ModelCall): boolean => args.trim().endsWith('}');

/** Habits of servers whose pieces only the id tells apart, with every use of the index and name. */
function idHabits(): Readonly<Record<string, Habit>> {
  const all: Record<string, Habit> = {};
  const indices: Readonly<Record<string, (index: number) => JsonObject>> = {
    'no index': () => ({}),
    'the index 0': () => ({ index: 0 }),
    'the index as text': (index) => ({ index: `${index}` }),
    'a new index': (index) => ({ index: index * 10 }),
  };
  for (const [indexed, keyed] of Object.entries(indices)) {
    for (const repeats of [false, true]) {
      for (const isEmptyFirst of [false, true]) {
        const named = repeats ? ', the name' : '';
        const opened = isEmptyFirst ? ' after an empty one' : '';
        all[`the id${named} and ${indexed} in each piece${opened}`] = {
          isSequential: false,
          idOf,
          pieces: ({ name }, index, cut) =>
            (isEmptyFirst || cut.length === 0 ? ['', ...cut] : cut).map((text, at) => ({
              ...keyed(index),
              id: idOf(index),
              function: { ...(at === 0 || repeats ? { name } : {}), arguments: text },
            })),
        };
      }
    }
  }
  return all;
}

/** The habits that were seen, by what is special about them. */
export const habits: Readonly<Record<string, Habit>> = {
  ...idHabits(),
  'the index as text, without ids after the first piece': {
    isSequential: false,
    idOf,
    pieces: ({ name }, index, cut) => [
      { index: `${index}`, id: idOf(index), function: { name, arguments: '' } },
      ...cut.map((text) => ({ index: `${index}`, function: { arguments: text } })),
    ],
  },
  'one id for all calls': {
    isSequential: false,
    idOf: (index) => (index === 0 ? idOf(0) : undefined),
    pieces: ({ name }, index, cut) =>
      ['', ...cut].map((text, at) => ({
        index,
        id: idOf(0),
        function: { ...(at === 0 ? { name } : {}), arguments: text },
      })),
  },
  'the name first, then the arguments': {
    isSequential: false,
    idOf,
    pieces: ({ name }, index, cut) => [
      { index, id: idOf(index), type: 'function', function: { name, arguments: '' } },
      ...more(index, cut),
    ],
  },
  'an index from 1': {
    isSequential: false,
    idOf,
    pieces: ({ name }, index, cut) => [
      { index: index + 1, id: idOf(index), function: { name } },
      ...more(index + 1, cut),
    ],
  },
  'the id and the name in each piece': {
    isSequential: false,
    idOf,
    pieces: ({ name }, index, cut) =>
      ['', ...cut].map((text) => ({ index, id: idOf(index), function: { name, arguments: text } })),
  },
  'the name in pieces': {
    isSequential: false,
    idOf,
    pieces: ({ name }, index, cut) => [
      { index, id: idOf(index), function: { name: name.slice(0, 2), arguments: '' } },
      { index, function: { name: name.slice(2), arguments: cut[0] ?? '' } },
      ...more(index, cut.slice(1)),
    ],
  },
  'an id after the first arguments': {
    isSequential: false,
    idOf,
    pieces: ({ name }, index, cut) => [
      { index, function: { name, arguments: cut[0] ?? '' } },
      { index, id: idOf(index), function: { arguments: cut[1] ?? '' } },
      ...more(index, cut.slice(2)),
    ],
  },
  'a name after the first arguments': {
    isSequential: false,
    idOf,
    pieces: ({ name }, index, cut) => [
      { index, id: idOf(index), function: { arguments: cut[0] ?? '' } },
      { index, function: { name, arguments: cut[1] ?? '' } },
      ...more(index, cut.slice(2)),
    ],
  },
  'another id in each piece': {
    isSequential: false,
    idOf,
    pieces: ({ name }, index, cut) => [
      { index, id: idOf(index), function: { name } },
      ...more(index, cut).map((piece, at) => ({ ...piece, id: `other_${index}_${at}` })),
    ],
  },
  'no id': {
    isSequential: false,
    idOf: noId,
    pieces: ({ name }, index, cut) => [{ index, id: '', function: { name } }, ...more(index, cut)],
  },
  'the whole arguments again at the end': {
    isSequential: false,
    idOf,
    canSend: isObject,
    pieces: ({ name, args }, index, cut) => [
      { index, id: idOf(index), function: { name } },
      ...more(index, cut),
      { index, id: idOf(index), function: { name, arguments: args } },
    ],
  },
  'empty pieces at the end': {
    isSequential: false,
    idOf,
    pieces: ({ name }, index, cut) => [
      { index, id: idOf(index), function: { name } },
      ...more(index, [...cut, '', '']),
      { index, id: '', function: { name: '', arguments: '' } },
    ],
  },
  'the arguments as an object': {
    isSequential: false,
    idOf,
    canSend: isObject,
    pieces: ({ name, args }, index) => [
      { index, id: idOf(index), function: { name, arguments: objectIn(args) } },
    ],
  },
  'no index': {
    isSequential: true,
    idOf,
    pieces: ({ name }, index, cut) => [
      { id: idOf(index), function: { name } },
      ...cut.map((text) => ({ function: { arguments: text } })),
    ],
  },
  'the index 0 for each call': {
    isSequential: true,
    idOf,
    pieces: ({ name }, index, cut) => [
      { index: 0, id: idOf(index), function: { name } },
      ...more(0, cut),
    ],
  },
  'the index 0 for each call, without ids': {
    isSequential: true,
    idOf: noId,
    canSend: (call) => isObject(call) && call.args.startsWith('{'),
    pieces: ({ name }, _, cut) => [
      { index: 0, id: '', function: { name, arguments: cut[0] ?? '' } },
      ...more(0, cut.slice(1)),
    ],
  },
  'a call in one piece': {
    isSequential: false,
    idOf,
    pieces: ({ name, args }, index) => [
      { index, id: idOf(index), function: { name, arguments: args } },
    ],
  },
};

function objectIn(args: string): JsonValue {
  return JSON.parse(args);
}

/** Arguments of all forms, some of which are not objects. */
export const argumentTexts: readonly string[] = [
  '{"city":"Oslo"}',
  '{}',
  '{"a":{"b":[1,{}]},"c":"}{"}',
  '{"quote":"\\"}","n":[[]]}',
  '{"letters":"é😀"}',
  ' {"spaced" : true } ',
  '',
  '["list"]',
];

/** The calls of one reply. */
export const calls: fc.Arbitrary<readonly ModelCall[]> = fc.array(
  fc.record({
    name: fc.constantFrom('look', 'paint', 'look_again'),
    args: fc.constantFrom(...argumentTexts),
  }),
  { minLength: 1, maxLength: 4 },
);
/** Numbers that decide how a reply is sent. */
export const draws: fc.Arbitrary<fc.Stream<number>> = fc.infiniteStream(fc.nat(1_000));

/** Numbers below a limit, drawn one after the other. */
export interface Drawn {
  below(limit: number): number;
}

/** Draws from these numbers. */
export function drawnFrom(stream: Iterable<number>): Drawn {
  const numbers = stream[Symbol.iterator]();
  return { below: (limit) => Number(numbers.next().value) % limit };
}

/** The text in pieces of one to six characters, none of which is empty. */
export function torn(text: string, { below }: Drawn): readonly string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; ) {
    const size = 1 + below(6);
    pieces.push(text.slice(from, from + size));
    from += size;
  }
  return pieces;
}

/** Merges the calls’ pieces in any order in which each call begins after the previous one. */
function interleaved(lists: readonly Pieces[], { below }: Drawn): readonly JsonObject[] {
  const positions = lists.map(() => 0);
  const merged: JsonObject[] = [];
  for (;;) {
    const begun = positions.indexOf(0);
    const choices = lists.flatMap((list, at) => {
      const mayBegin = begun === -1 || at <= begun;
      return mayBegin && (positions[at] ?? 0) < list.length ? [at] : [];
    });
    const at = choices[below(Math.max(1, choices.length))];
    const piece = at === undefined ? undefined : lists[at]?.[positions[at] ?? 0];
    if (at === undefined || piece === undefined) return merged;
    merged.push(piece);
    positions[at] = (positions[at] ?? 0) + 1;
  }
}

/** Chunks with one or more pieces each, and with text between them. */
function chunksOf(pieces: readonly JsonObject[], drawn: Drawn, isJoined: boolean): JsonValue[] {
  const chunks: JsonValue[] = [];
  for (let from = 0; from < pieces.length; ) {
    const size = isJoined ? 1 + drawn.below(3) : 1;
    const tool_calls = pieces.slice(from, from + size);
    const content = drawn.below(8) === 0 ? { content: 'Hm. ' } : {};
    chunks.push(chunk({ ...content, tool_calls }));
    from += size;
  }
  return chunks;
}

/** A reply with calls, as one vendor streams it. */
export interface Streamed {
  readonly expected: readonly ModelCall[];
  readonly ids: readonly (string | undefined)[];
  readonly chunks: readonly JsonValue[];
}

/** Streams the calls that a server with this habit can send. */
export function streamed(
  habit: Habit,
  all: readonly ModelCall[],
  numbers: Iterable<number>,
): Streamed {
  const drawn = drawnFrom(numbers);
  const expected = all.filter((call) => habit.canSend?.(call) !== false);
  const lists = expected.map((call, index) => habit.pieces(call, index, torn(call.args, drawn)));
  const pieces = habit.isSequential ? lists.flat() : interleaved(lists, drawn);
  return {
    expected,
    ids: expected.map((_, index) => habit.idOf(index)),
    chunks: chunksOf(pieces, drawn, !habit.isSequential),
  };
}

/** Objects are written again, so that their text may differ. */
export function argumentsOf(call: ModelCall, name: string): string {
  return name === 'the arguments as an object' ? JSON.stringify(objectIn(call.args)) : call.args;
}
