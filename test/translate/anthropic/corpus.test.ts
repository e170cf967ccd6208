// suite: slow
/** Reads every recorded Anthropic reply to its end, also after mutations. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../../src/json.ts';
import { documentsOf } from '../../support/codec.ts';
import { fixtures } from '../../support/recorded/fixtures.ts';
import { begin, changed, folded, json, opened, streamEvents } from './client.ts';

const answers = fixtures('anthropic').filter(({ status }) => status === 200);
const wholes = answers.filter(({ streamed }) => !streamed);
const streams = answers.filter(({ streamed }) => streamed);

describe('a recorded reply', () => {
  it.each(
    wholes.map((one) => [one.name, one] as const),
  )('%s gives its whole content', (_, recorded) => {
    const reply = json(recorded);

    const events = begin().readReply(reply);

    expect(folded(events)).toMatchObject(expected(items(member(reply, 'content')), reply));
    expectOrder(events);
  });

  it.each(
    streams.map((one) => [one.name, one] as const),
  )('%s gives its whole content', (_, one) => {
    const documents = documentsOf(one.response);

    const events = streamEvents(documents);

    expect(folded(events)).toMatchObject(assembled(documents));
    expectOrder(events);
  });
});

describe('a whole reply', () => {
  it('gives the same events as its stream, wherever the text is split', () => {
    fc.assert(
      fc.property(fc.constantFrom(...wholes), fc.integer({ min: 1, max: 9 }), (one, size) => {
        const reply = json(one);

        const events = streamEvents(asStream(reply, size));

        expect(folded(events)).toEqual(folded(begin().readReply(reply)));
      }),
      { numRuns: 60 },
    );
  });
});

describe('a reply with values of wrong types', () => {
  const documents = streams.flatMap(({ response }) => documentsOf(response));

  it('is read without an exception, and has one finish', () => {
    const odd = fc.oneof(
      fc.constantFrom(...wholes.map(json)).chain(mutated),
      fc.jsonValue().map((value) => parseJson(JSON.stringify(value)) ?? null),
    );

    fc.assert(
      fc.property(odd, (reply) => {
        const events = begin().readReply(reply);
        const ends = events.filter(({ type }) => type === 'finish' || type === 'unusable');
        expect(ends).toHaveLength(1);
      }),
      { numRuns: 400 },
    );
  });

  it('is read from a stream without an exception, and has one finish', () => {
    const row = fc.array(fc.constantFrom(...documents).chain(mutated), { maxLength: 30 });

    fc.assert(
      fc.property(row, (mixed) => {
        expect(folded(streamEvents(mixed)).finish).toHaveLength(1);
      }),
      { numRuns: 400 },
    );
  });
});

/** The content of the blocks, assembled independently of the reader. */
function expected(blocks: readonly JsonValue[], message: JsonValue): object {
  const of = (type: string): readonly JsonValue[] =>
    blocks.filter((block) => member(block, 'type') === type);
  const known = ['text', 'thinking', 'redacted_thinking', 'tool_use'];
  const usage = member(message, 'usage');
  const isCompacted = of('compaction').length > 0;
  return {
    id: member(message, 'id'),
    text: of('text')
      .map((block) => member(block, 'text'))
      .join(''),
    thoughts: of('thinking')
      .map((block) => member(block, 'thinking'))
      .join(''),
    calls: of('tool_use').map((block) => ({
      id: member(block, 'id'),
      name: member(block, 'name'),
      json: JSON.stringify(member(block, 'input')),
    })),
    own: blocks.filter((block) => !known.includes(String(member(block, 'type')))),
    usage: isCompacted
      ? {}
      : {
          inputTokens: inAllPasses(usage, inputIn),
          outputTokens: inAllPasses(usage, (one) => number(one, 'output_tokens')),
        },
  };
}

function inputIn(usage: JsonValue | undefined): number {
  return (
    number(usage, 'input_tokens') +
    number(usage, 'cache_read_input_tokens') +
    number(usage, 'cache_creation_input_tokens')
  );
}

/** The totals leave out advisers and refused attempts, which `iterations` list. */
function inAllPasses(
  usage: JsonValue | undefined,
  countOf: (usage: JsonValue | undefined) => number,
): number {
  let sum = 0;
  for (const pass of items(member(usage, 'iterations'))) sum += countOf(pass);
  return Math.max(countOf(usage), sum);
}

/** The message that a stream adds up to, as Anthropic's SDK builds it. */
function assembled(documents: readonly JsonValue[]): object {
  const of = (type: string): readonly JsonValue[] =>
    documents.filter((document) => member(document, 'type') === type);
  const message = member(of('message_start')[0] ?? null, 'message');
  const blocks = of('content_block_start').map((start): JsonValue => {
    const index = member(start, 'index');
    const deltas = of('content_block_delta')
      .filter((delta) => member(delta, 'index') === index)
      .map((delta) => member(delta, 'delta'));
    const merged = (name: string): string =>
      deltas.map((delta) => member(delta, name) ?? '').join('');
    const block = member(start, 'content_block');
    const type = member(block, 'type') ?? null;
    const input = parseJson(merged('partial_json')) ?? member(block, 'input') ?? {};
    switch (type) {
      case 'text':
        return { type, text: merged('text') };
      case 'thinking':
        return { type, thinking: merged('thinking') };
      case 'tool_use':
        return { ...(isJsonObject(block) ? block : {}), input };
      default:
        return merged('partial_json') === ''
          ? (block ?? null)
          : { ...(isJsonObject(block) ? block : {}), input };
    }
  });
  const usage = [message, ...of('message_delta')].map((one) => member(one, 'usage'));
  const merged = Object.assign({}, ...usage.filter(isJsonObject));
  const whole = { ...(isJsonObject(message) ? message : {}), usage: merged };
  const known = expected(blocks, whole);
  return JSON.stringify(documents).includes('input_json_delta')
    ? { ...known, calls: expect.anything() }
    : known;
}

function expectOrder(events: readonly ContentEvent[]): void {
  const types = events.map(({ type }) => type);
  const finish = types.indexOf('finish');
  expect(types.filter((type) => type === 'finish')).toHaveLength(1);
  expect(types.slice(finish + 1).filter((type) => type !== 'usage')).toEqual([]);
}

/**
 * The events in which Anthropic would have streamed the message, with its text in pieces of the
 * given size.
 */
function asStream(message: JsonValue, size: number): readonly JsonValue[] {
  const cut = (value: JsonValue | undefined): readonly string[] =>
    String(value ?? '').match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
  const blocks = items(member(message, 'content')).flatMap((block, index): JsonValue[] => {
    const stop = { type: 'content_block_stop', index };
    const deltas = (type: string, name: string, value: JsonValue | undefined): JsonValue[] =>
      cut(value).map((piece) => changed(index, { type, [name]: piece }));
    const message = isJsonObject(block) ? block : {};
    switch (member(block, 'type')) {
      case 'text':
        return [
          opened(index, { ...message, text: '' }),
          ...deltas('text_delta', 'text', member(block, 'text')),
          stop,
        ];
      case 'thinking':
        return [
          opened(index, { type: 'thinking', thinking: '', signature: '' }),
          ...deltas('thinking_delta', 'thinking', member(block, 'thinking')),
          changed(index, {
            type: 'signature_delta',
            signature: member(block, 'signature') ?? '',
          }),
          stop,
        ];
      case 'tool_use':
        return [
          opened(index, { ...message, input: {} }),
          ...deltas('input_json_delta', 'partial_json', JSON.stringify(member(block, 'input'))),
          stop,
        ];
      default:
        return [opened(index, block), stop];
    }
  });
  const stop = {
    stop_reason: member(message, 'stop_reason') ?? null,
    stop_details: member(message, 'stop_details') ?? null,
  };
  const usage = member(message, 'usage') ?? null;
  return [
    { type: 'message_start', message: { id: member(message, 'id') ?? null, usage } },
    { type: 'ping' },
    ...blocks,
    { type: 'message_delta', delta: stop, usage },
    { type: 'message_stop' },
  ];
}

/** The document with one value replaced. */
function mutated(document: JsonValue): fc.Arbitrary<JsonValue> {
  const paths = leaves(document, []);
  const odd = fc.constantFrom<JsonValue>(null, 0, -1, 1e300, '', 'x', true, [], {}, [[]], [null]);
  return fc
    .tuple(fc.constantFrom(...paths), odd)
    .map(([path, value]) => replaced(document, path, value));
}

type Path = readonly (string | number)[];

function leaves(value: JsonValue, path: Path): readonly Path[] {
  if (Array.isArray(value)) {
    return [path, ...items(value).flatMap((one, index) => leaves(one, [...path, index]))];
  }
  if (!isJsonObject(value)) return [path];
  return [path, ...Object.entries(value).flatMap(([name, one]) => leaves(one, [...path, name]))];
}

function replaced(document: JsonValue, [step, ...rest]: Path, value: JsonValue): JsonValue {
  if (step === undefined) return value;
  if (typeof step === 'number') {
    return items(document).map((one, index) => (index === step ? replaced(one, rest, value) : one));
  }
  const inner = replaced(member(document, step) ?? null, rest, value);
  return { ...(isJsonObject(document) ? document : {}), [step]: inner };
}

function number(holder: JsonValue | undefined, name: string): number {
  return Number(member(holder, name) ?? 0);
}
