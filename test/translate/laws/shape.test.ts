// suite: search
/** Every character arrives in order, with one finish after it. */
import { describe, expect, it } from 'vitest';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import {
  brokenLaws as brokenMessagesLaws,
  messagesEvents,
} from '../../support/laws/messages-laws.ts';
import { brokenLaws, responsesEvents } from '../../support/laws/responses-laws.ts';
import { shapeFaults } from '../../support/laws/responses-shape.ts';
import { drawn } from '../../support/seeds.ts';
import { answered, gotten, type Protocol } from './caller-side.ts';
import {
  document,
  eventStream,
  goodStreams,
  type Pair,
  pairs,
  rows,
  streamLayouts,
  streamOf,
  translated,
  wholes,
} from './exchange.ts';
import { awkwardPieces, replyOf } from './made.ts';
import { type OutputPart, oracles } from './oracle.ts';
import { joined } from './pieces.ts';
import { count, isRecord, type Json, list, record, text } from './tree.ts';

describe('a translated stream is well-formed', () => {
  it.each(rows(goodStreams))('to %s: %s', async (protocol, _name, { dialect, bytes }) => {
    for (const layout of streamLayouts[protocol]) {
      const { answer: reply } = await translated({ protocol, dialect }, layout, eventStream(bytes));

      if (reply.status === 200) expectShape(protocol, reply.text);
    }
  });

  it.each(rows(wholes))('to %s, streamed: %s', async (protocol, _name, { dialect, text: body }) => {
    const whole = record(JSON.parse(body));
    const scripted = streamOf(dialect, oracles[dialect].stream(whole, drawn(7)));

    for (const layout of streamLayouts[protocol]) {
      const { answer: reply } = await translated({ protocol, dialect }, layout, scripted);

      const isWhole = reply.status === 200 && !/"error":\{/.test(reply.text);
      if (isWhole) expectShape(protocol, reply.text);
    }
  });
});

describe.each(pairs)('awkward text from $dialect to $protocol', (pair) => {
  const length = process.env.TEST_FORM === 'full' ? 60 : 20;
  const seeds = Array.from({ length }, (_, seed) => seed);

  it('arrives unchanged and in order, whole and streamed', async () => {
    for (const seed of seeds) {
      const pieces = awkwardPieces(seed);
      const whole = replyOf(pair.dialect, pieces);
      const reported = oracles[pair.dialect].reply(whole).choices[0]?.output ?? [];

      const plain = await translated(pair, 'json', document(JSON.stringify(whole)));

      expect(gotten(pair.protocol, plain.whole).choices[0]?.output).toEqual(
        inOrder(pair, reported),
      );
      for (const layout of streamLayouts[pair.protocol]) {
        const scripted = streamOf(pair.dialect, piecewise(pair.dialect, whole, seed));
        const streamed = await translated(pair, layout, scripted);

        const got = gotten(pair.protocol, streamed.whole).choices[0]?.output;
        expect(got).toEqual(inOrder(pair, reported));
        if (pair.protocol === 'chat') expect(deltaOutput(streamed.answer.text)).toEqual(reported);
      }
    }
  });
});

/** The members of a whole message have no order, but the deltas of a stream do. */
function inOrder({ protocol }: Pair, reported: readonly OutputPart[]): readonly OutputPart[] {
  if (protocol === 'messages') return joined(reported.filter(({ kind }) => kind !== 'media'));
  if (protocol !== 'chat') return reported;
  const order = ['thought', 'text', 'media', 'call'];
  return joined(order.flatMap((kind) => reported.filter((one) => one.kind === kind)));
}

function piecewise(dialect: DialectName, whole: Json, seed: number): readonly Json[] {
  return oracles[dialect].stream(whole, drawn(seed));
}

/** The content of the deltas of a chat stream, in order. */
function deltaOutput(body: string): readonly OutputPart[] {
  const output: OutputPart[] = [];
  const calls: string[] = [];
  for (const { choices } of answered(body, true)) {
    const delta = record(record(list(choices)[0]).delta);
    output.push({ kind: 'thought', text: text(delta.reasoning_content) });
    output.push({ kind: 'text', text: text(delta.content) });
    for (const fragment of list(delta.tool_calls).map(record)) {
      const { name, arguments: json } = record(fragment.function);
      const at = count(fragment.index);
      if (name !== undefined) output.push({ kind: 'call', name: text(name), args: at });
      calls[at] = `${calls[at] ?? ''}${text(json)}`;
    }
  }
  return joined(output).map((piece) =>
    piece.kind === 'call' ? { ...piece, args: JSON.parse(calls[Number(piece.args)] ?? '') } : piece,
  );
}

function expectShape(protocol: Protocol, body: string): void {
  const documents = answered(body, true);
  if (protocol === 'native') return expectNative(documents);
  if (protocol === 'responses') {
    expect(brokenLaws(responsesEvents(body))).toEqual([]);
    return expect(shapeFaults(documents.at(-1)?.response)).toEqual([]);
  }
  if (protocol === 'messages') {
    return expect(brokenMessagesLaws(messagesEvents(body), { isOwn: true })).toEqual([]);
  }
  expect(body.match(/data: \[DONE\]\n\n/g)).toHaveLength(1);
  expect(body.endsWith('data: [DONE]\n\n')).toBe(true);
  expectChat(documents);
}

function expectChat(chunks: readonly Json[]): void {
  const ids = new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`));
  expect(ids.size).toBe(1);
  const figures = chunks.findIndex(({ choices }) => list(choices).length === 0);
  if (figures !== -1) expect(figures).toBe(chunks.length - 1);
  const reported = chunks.flatMap(({ choices }) => list(choices).map(record));
  for (const index of new Set(reported.map((choice) => choice.index))) {
    expectChoice(reported.filter((choice) => choice.index === index));
  }
}

/** The role first, one finish at the end, and calls counted from 0. */
function expectChoice(reported: readonly Json[]): void {
  expect(record(reported[0]?.delta).role).toBe('assistant');
  expect(reported.findIndex(({ finish_reason }) => finish_reason !== null)).toBe(
    reported.length - 1,
  );
  expect(reported.at(-1)?.delta).toEqual({});
  const fragments = reported.flatMap(({ delta }) => list(record(delta).tool_calls).map(record));
  const firstBytes = fragments.filter(({ id }) => id !== undefined);
  expect(firstBytes.map(({ index }) => index)).toEqual(firstBytes.map((_, position) => position));
  expect(firstBytes.every(({ function: called }) => text(record(called).name) !== '')).toBe(true);
  const seen = new Set(firstBytes.map(({ index }) => index));
  expect(fragments.every(({ index }) => seen.has(index))).toBe(true);
  if (reported.at(-1)?.finish_reason === 'tool_calls') expect(firstBytes.length).toBeGreaterThan(0);
}

function expectNative(documents: readonly Json[]): void {
  const versions = new Set(
    documents.map(({ responseId, modelVersion }) => `${responseId} ${modelVersion}`),
  );
  expect(versions.size).toBe(1);
  const reported = documents.flatMap(({ candidates }) => list(candidates).map(record));
  for (const index of new Set(reported.map((candidate) => candidate.index))) {
    const own = reported.filter((candidate) => candidate.index === index);
    expect(own.findIndex(({ finishReason }) => finishReason !== undefined)).toBe(own.length - 1);
    const parts = own.flatMap(({ content }) => list(record(content).parts).map(record));
    const calls = parts.map(({ functionCall }) => functionCall).filter(isRecord);
    expect(calls.every(({ name, args }) => text(name) !== '' && isRecord(args))).toBe(true);
  }
}
