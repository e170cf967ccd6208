// suite: search
/**
 * Streamed calls for every habit of vendors, interleaved and cut anywhere: what is sent early is
 * never wrong.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import {
  argumentsOf,
  argumentTexts,
  calls,
  drawnFrom,
  draws,
  habits,
  type ModelCall,
  more,
  type Streamed,
  streamed,
  torn,
} from '../tools/call-habits.ts';
import { callsOf, chunk, exchange } from './client.ts';

const rows = Object.entries(habits);
const finish = chunk({}, 'tool_calls');

describe.each(rows)('a vendor that sends %s', (name, habit) => {
  const property = (
    check: (stream: Streamed) => void,
    seed: number,
  ): ReturnType<typeof fc.assert> =>
    fc.assert(
      fc.property(calls, draws, (all, numbers) => {
        const stream = streamed(habit, all, numbers);
        if (stream.expected.length > 0) check(stream);
      }),
      { seed, numRuns: 120 },
    );

  it('gives the calls that the model made', () =>
    property(({ expected, ids, chunks }) => {
      for (const holdsCalls of [false, true]) {
        const { events } = read([...chunks, finish], holdsCalls);

        const found = callsOf(events);
        // White space after the arguments may come when the call is over.
        expect(found.map((call) => [call.name, call.arguments.trimEnd()])).toEqual(
          expected.map((call) => [call.name, argumentsOf(call, name).trimEnd()]),
        );
        for (const [at, { id }] of found.entries()) {
          expect(id).toMatch(ids[at] ?? /^call_[A-Za-z0-9]{24}$/);
        }
        expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
        expect(events.at(-1)).toMatchObject({ type: 'finish', reason: 'tool_calls' });
      }
    }, 1));

  it('gets one call after the other, each whole before the next', () =>
    property(({ chunks }) => {
      const { events } = read([...chunks, finish]);

      let open: number | undefined;
      let next = 0;
      for (const event of events) {
        if (event.type === 'tool_begin') {
          expect([open, event.call]).toEqual([undefined, next]);
          open = event.call;
          next += 1;
        } else if (event.type === 'tool_arguments') {
          expect(event.call).toBe(open);
          expect(event.text).not.toBe('');
        } else if (event.type === 'tool_end') {
          expect(event.call).toBe(open);
          open = undefined;
        } else if (event.type === 'finish') expect(open).toBeUndefined();
      }
    }, 2));

  it('has sent nothing wrong wherever it stops, and holds the rest back', () =>
    property(({ expected, chunks }) => {
      const whole = expected.map((call) => ({ ...call, args: argumentsOf(call, name) }));
      for (let end = 0; end <= chunks.length; end += 1) {
        const { events, heldChars } = readUnended(chunks.slice(0, end));

        const sent = callsOf(events);
        for (const { call, name: sentName, arguments: args } of sent) {
          expect(sentName).toBe(whole[call]?.name);
          expect(whole[call]?.args.startsWith(args)).toBe(true);
        }
        const sentChars = sent.reduce((sum, { arguments: args }) => sum + args.length, 0);
        const allChars = whole.reduce((sum, { args }) => sum + args.length, 0);
        const spaces = whole.reduce(
          (sum, { args }) => sum + args.length - args.trimEnd().length,
          0,
        );
        expect(heldChars).toBeGreaterThanOrEqual(0);
        expect(sentChars + heldChars).toBeLessThanOrEqual(allChars);
        if (end < chunks.length) continue;
        expect(sentChars + heldChars).toBeGreaterThanOrEqual(allChars - spaces);
      }
    }, 3));
});

describe('calls whose pieces cannot be told apart', () => {
  const whole = calls.map((all) => all.filter(({ args }) => args.trim().length > 2));
  const shared: readonly (readonly [string, JsonObject])[] = [
    ['no index', {}],
    ['the index 0', { index: 0 }],
  ];
  const opened = (given: JsonObject, all: readonly ModelCall[]): readonly JsonValue[] =>
    all.map(({ name }, at) => ({ ...given, id: `id_${at}`, function: { name, arguments: '' } }));

  it.each(shared)('are an error and never sent whole, with %s and no id', (_, given) => {
    fc.assert(
      fc.property(whole, draws, (all, numbers) => {
        fc.pre(all.length > 1);
        const drawn = drawnFrom(numbers);
        const rest = all.map(({ args }) => [...torn(args, drawn)]);
        const pieces: JsonValue[] = [...opened(given, all)];
        let mixed = '';
        for (let left = rest; left.length > 0; left = left.filter((texts) => texts.length > 0)) {
          const text = left[drawn.below(left.length)]?.shift();
          mixed += text ?? '';
          if (text !== undefined) pieces.push({ ...given, function: { arguments: text } });
        }
        // By chance, one call's text may stand in a string of another.
        fc.pre(!isJson(mixed));
        expectUnusable(pieces, all);
      }),
      { numRuns: 200 },
    );
  });

  it.each(shared)('are an error with %s and ids of some pieces only', (_, given) => {
    const [first, second] = ['{"x":1}', '{"y":2}'];
    const made = [
      { name: 'look', args: first },
      { name: 'paint', args: second },
    ];
    const all = opened(given, made);
    const toFirst = { ...given, id: 'id_0', function: { arguments: first } };
    const toAny = { ...given, function: { arguments: second } };

    expectUnusable([...all, toFirst, toAny], made);
    expectUnusable([...all, toAny, toFirst], made);
  });

  it('are an error if arguments come for a call that was whole', () => {
    const piece = (id: string, args: string): JsonValue => ({
      id,
      function: { name: id, arguments: args },
    });
    const late = { id: 'a', function: { arguments: '{"x":1}' } };

    const { events } = read(inChunks([piece('a', '{}'), piece('b', '{}'), late]));
    expect(events.at(-1)).toMatchObject({ type: 'unusable' });
  });

  it('are an error if arguments come with an id that no call has', () => {
    const call = { id: 'a', function: { name: 'look', arguments: '' } };

    expectUnusable([call, { id: 'z', function: { arguments: '{"x":1}' } }], []);
  });

  function inChunks(pieces: readonly JsonValue[]): readonly JsonValue[] {
    return [...pieces.map((piece) => chunk({ tool_calls: [piece] })), finish];
  }

  /** Events that come with the failure are counted, but not passed on. */
  function expectUnusable(pieces: readonly JsonValue[], made: readonly ModelCall[]): void {
    const reader = exchange().readStream();
    const sent: ContentEvent[] = [];
    for (const one of inChunks(pieces)) {
      const events = reader.read(one);
      if (events.some(({ type }) => type === 'unusable')) return;
      sent.push(...events);
      for (const event of sent) {
        if (event.type !== 'tool_end') continue;
        const found = callsOf(sent).find(({ call }) => call === event.call);
        expect(found?.arguments).toBe(made[event.call]?.args);
      }
    }
    expect(reader.end().at(-1)).toMatchObject({ type: 'unusable' });
    expect(read(inChunks(pieces), true).events.at(-1)).toMatchObject({ type: 'unusable' });
  }
});

describe('the first call', () => {
  it('streams each piece of its arguments as it comes', () => {
    fc.assert(
      fc.property(fc.constantFrom(...argumentTexts), draws, (args, numbers) => {
        const cut = torn(args, drawnFrom(numbers));
        const reader = exchange().readStream();
        reader.read(chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'look' } }] }));

        const texts = more(0, cut).map((piece) =>
          reader
            .read(chunk({ tool_calls: [piece] }))
            .flatMap((event) => (event.type === 'tool_arguments' ? [event.text] : [])),
        );

        expect(texts).toEqual(cut.map((piece) => [piece]));
      }),
      { numRuns: 100 },
    );
  });

  it('lets the next one stream as soon as it is whole, and the one after that wait', () => {
    const reader = exchange().readStream();
    const piece = (index: number, text: string, head: JsonObject = {}): readonly string[] =>
      reader
        .read(
          chunk({
            tool_calls: [{ index, ...head, function: { ...named(head), arguments: text } }],
          }),
        )
        .map((event) => shown(event));

    expect(piece(0, '{"a"', { id: 'a' })).toEqual(['start', 'begin 0', '0 {"a"']);
    expect(piece(1, '{"b"', { id: 'b' })).toEqual([]);
    expect(piece(2, '{"c"', { id: 'c' })).toEqual([]);
    expect(piece(1, ':2}')).toEqual([]);
    expect(piece(0, ':1}')).toEqual(['0 :1}', 'end 0', 'begin 1', 'end 1', 'begin 2', '2 {"c"']);
    expect(piece(2, ':3}')).toEqual(['2 :3}']);
    expect(reader.heldChars?.()).toBe(0);
  });

  it('ends before other content if it is whole, and takes nothing more', () => {
    const reader = exchange().readStream();
    const call = { index: 0, id: 'a', function: { name: 'look', arguments: '{}' } };
    reader.read(chunk({ tool_calls: [call] }));

    expect(reader.read(chunk({ content: 'Well' })).map(shown)).toEqual(['end 0', 'text']);
    expect(reader.read(chunk({ tool_calls: [call] }))).toEqual([]);
    reader.read(finish);
    expect(reader.end().map(({ type }) => type)).toEqual(['finish']);
  });

  it('stays open beside other content while it is not whole', () => {
    const reader = exchange().readStream();
    const call = { index: 0, id: 'a', function: { name: 'look', arguments: '{' } };
    reader.read(chunk({ tool_calls: [call] }));

    expect(reader.read(chunk({ content: 'Well' })).map(shown)).toEqual(['text']);
    const rest = chunk({ tool_calls: [{ index: 0, function: { arguments: '}' } }] });
    expect(reader.read(rest).map(shown)).toEqual(['0 }']);
  });

  it('waits with the text of a custom tool, whose JSON form needs all of it', () => {
    const reader = exchange().readStream();
    const custom = { index: 0, id: 'a', type: 'custom', custom: { name: 'exec', input: 'ls' } };

    expect(reader.read(chunk({ tool_calls: [custom] })).map(shown)).toEqual(['start']);
    expect(reader.heldChars?.()).toBe(2);
    reader.read(finish);
    expect(callsOf(reader.end())).toMatchObject([{ name: 'exec', arguments: '{"input":"ls"}' }]);
  });
});

describe('a signature', () => {
  const signed = (data: string): JsonObject => ({
    extra_content: { google: { thought_signature: data } },
  });
  const call = (arguments_: string, given: JsonObject = {}): JsonValue =>
    chunk({
      tool_calls: [
        { index: 0, id: 'a', function: { name: 'look', arguments: arguments_ }, ...given },
      ],
    });

  it.each([
    ['before the call', [chunk(signed('s')), call('{}')], 'call'],
    ['in the chunk of the call', [call('{}', signed('s'))], 'call'],
    ['after the beginning of the call', [call('{'), call('}', signed('s'))], 'text'],
    ['at the end of the message', [call('{}'), chunk(signed('s'))], 'text'],
  ])('%s is kept', (_, chunks, place) => {
    const { events } = read([...chunks, finish]);

    const kept = events.filter((event) => 'providerData' in event && event.providerData);
    expect(kept).toMatchObject([
      { type: place === 'call' ? 'tool_begin' : 'text', providerData: { data: 's' } },
    ]);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function named(head: JsonObject): JsonObject {
  return 'id' in head ? { name: 'look' } : {};
}

function shown(event: ContentEvent): string {
  switch (event.type) {
    case 'tool_begin':
      return `begin ${event.call}`;
    case 'tool_arguments':
      return `${event.call} ${event.text}`;
    case 'tool_end':
      return `end ${event.call}`;
    default:
      return event.type;
  }
}

interface ReadSoFar {
  readonly events: readonly ContentEvent[];
  readonly heldChars: number;
}

function read(chunks: readonly JsonValue[], holdsCalls = false): ReadSoFar {
  const reader = exchange().readStream({ holdsCalls });
  const events = [...chunks.flatMap((one) => reader.read(one))];
  if (holdsCalls) expect(callsOf(events)).toEqual([]);
  events.push(...reader.end());
  return { events, heldChars: reader.heldChars?.() ?? 0 };
}

function readUnended(chunks: readonly JsonValue[]): ReadSoFar {
  const reader = exchange().readStream();
  const events = chunks.flatMap((one) => reader.read(one));
  return { events, heldChars: reader.heldChars?.() ?? 0 };
}
