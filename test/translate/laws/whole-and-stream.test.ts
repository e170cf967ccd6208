// suite: search
/** Whole and streamed replies give the same complete content. */
import { describe, expect, it } from 'vitest';
import { drawn } from '../../support/seeds.ts';
import { answered, type Got, gotten, type Protocol } from './caller-side.ts';
import {
  document,
  eventStream,
  goodStreams,
  type Pair,
  type Recorded,
  rows,
  streamLayouts,
  streamOf,
  type Translated,
  translated,
  wholes,
} from './exchange.ts';
import {
  type Choice,
  documentsOf,
  isUselessMessage,
  type OutputPart,
  oracles,
  type Reply,
} from './oracle.ts';
import { joined } from './pieces.ts';
import { type Json, record, strings } from './tree.ts';

/**
 * One recording has no finish. It is accepted as a whole reply, but as a stream it counts as
 * interrupted.
 */
const endedWholes = wholes.filter(({ name }) => name !== 'gemini/f-missing-safety');

describe('a recorded stream gives the same as a whole reply', () => {
  it.each(rows(goodStreams))('to %s: %s', async (protocol, _name, recorded) => {
    const { dialect, bytes, text } = recorded;
    const whole = oracles[dialect].whole(documentsOf(text).map(record));

    const plain = await translated({ protocol, dialect }, 'json', wholeOf(whole));

    for (const layout of streamLayouts[protocol]) {
      const streamed = await translated({ protocol, dialect }, layout, eventStream(bytes));
      expectSame(streamed, plain);
      expectTrue({ protocol, dialect }, streamed, oracles[dialect].reply(whole));
    }
    expectTrue({ protocol, dialect }, plain, oracles[dialect].reply(whole));
  });
});

describe('a recorded whole reply gives the same as a stream', () => {
  it.each(rows(endedWholes))('to %s: %s', async (protocol, _name, recorded) => {
    const { dialect, bytes } = recorded;
    const whole = readWhole(recorded);
    const pieces = oracles[dialect].stream(whole, drawn(bytes.length));

    const plain = await translated({ protocol, dialect }, 'json', document(bytes));

    for (const layout of streamLayouts[protocol]) {
      const scripted = streamOf(dialect, pieces);
      const streamed = await translated({ protocol, dialect }, layout, scripted);
      expectSame(streamed, plain);
      expectTrue({ protocol, dialect }, streamed, oracles[dialect].reply(whole));
    }
    expectTrue({ protocol, dialect }, plain, oracles[dialect].reply(whole));
  });
});

describe('the oracle', () => {
  it.each(
    wholes.map((one) => [one.name, one] as const),
  )('converts %s to an equivalent stream', (_name, recorded) => {
    const oracle = oracles[recorded.dialect];
    const whole = readWhole(recorded);

    const again = oracle.whole(oracle.stream(whole, drawn(1)));

    expect(flat(oracle.reply(again))).toEqual(flat(oracle.reply(whole)));
  });
});

function readWhole({ text }: Recorded): Json {
  return record(JSON.parse(text));
}

function wholeOf(reply: Json): ReturnType<typeof document> {
  return document(JSON.stringify(reply));
}

/** Whole and stream must be equal; a failure has to be the same failure. */
function expectSame(streamed: Translated, whole: Translated): void {
  expect(streamed.usage).toEqual(whole.usage);
  if (isOpenedFailure(streamed)) {
    const { error } = record(JSON.parse(whole.answer.text));
    expect(answered(streamed.answer.text, true).at(-1)).toMatchObject({ error });
    return;
  }
  expect(streamed.answer.status).toBe(whole.answer.status);
  expect(streamed.plain).toEqual(whole.plain);
}

/** Content that the caller does not get opened the stream, and nothing came that he gets. */
function isOpenedFailure({ answer, gateway }: Translated): boolean {
  return answer.status === 200 && gateway.records[0]?.reason === 'upstream_unusable_output';
}

/** The content must be complete and in order, with its finish and usage. */
function expectTrue({ protocol }: Pair, translated: Translated, reply: Reply): void {
  const { answer, whole, usage } = translated;
  const isUseless = protocol === 'messages' ? isUselessMessage(reply) : reply.useless === true;
  if (isUseless) {
    expect(isOpenedFailure(translated) ? 502 : answer.status).toBe(502);
    return;
  }
  expect(answer.status).toBe(200);
  const got = gotten(protocol, whole);
  expect(flatGot(got)).toEqual(
    protocol === 'responses' ? expectedResponse(reply, whole) : expected(protocol, reply),
  );
  for (const { callIds } of got.choices) expectIds(callIds);
  expectFigures(protocol, whole);
  if (reply.figures === undefined) return;
  // These callers get an estimate in place of a count that is missing.
  const isEstimated = protocol === 'messages' && reply.figures.output === 0;
  if (!isEstimated) expect(got.figures).toEqual(reply.figures);
  const { input, cached, output } = reply.figures;
  expect(usage).toMatchObject({
    inputTokens: input,
    cachedInputTokens: cached,
    outputTokens: output,
    images: 0,
  });
}

function expectIds(ids: readonly string[]): void {
  expect(ids.every((id) => id !== '')).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
}

/** The totals that a protocol guarantees. */
function expectFigures(protocol: Protocol, whole: Json): void {
  if (protocol === 'chat' && whole.usage !== undefined) {
    const { prompt_tokens, completion_tokens, total_tokens } = record(whole.usage);
    expect(Number(prompt_tokens) + Number(completion_tokens)).toBe(total_tokens);
  }
  if (protocol === 'responses' && whole.usage !== null) {
    const { input_tokens, output_tokens, total_tokens } = record(whole.usage);
    expect(Number(input_tokens) + Number(output_tokens)).toBe(total_tokens);
  }
  if (protocol === 'native' && whole.usageMetadata !== undefined) {
    const usage = record(whole.usageMetadata);
    const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount = 0 } = usage;
    const sum = Number(promptTokenCount) + Number(candidatesTokenCount);
    expect(sum + Number(thoughtsTokenCount)).toBe(usage.totalTokenCount);
  }
}

const words: Readonly<Record<Protocol, Readonly<Record<Choice['finish'], string>>>> = {
  chat: {
    stop: 'stop',
    tool_calls: 'tool_calls',
    length: 'length',
    content_filter: 'content_filter',
    other: 'stop',
  },
  native: {
    stop: 'STOP',
    tool_calls: 'STOP',
    length: 'MAX_TOKENS',
    content_filter: 'SAFETY',
    other: 'OTHER',
  },
  responses: {
    stop: 'completed',
    tool_calls: 'completed',
    length: 'max_output_tokens',
    content_filter: 'content_filter',
    other: 'completed',
  },
  messages: {
    stop: 'end_turn',
    tool_calls: 'tool_use',
    length: 'max_tokens',
    content_filter: 'refusal',
    other: 'end_turn',
  },
};

/** A blocked prompt gives no candidate in native replies, and an empty choice in the others. */
function expected(protocol: Protocol, { choices }: Reply): unknown {
  const blocked: Choice = { index: 0, output: [], finish: 'content_filter' };
  const reported = choices.length === 0 && protocol !== 'native' ? [blocked] : choices;
  return reported.map(({ index, output, finish }) => ({
    index,
    ...(protocol === 'chat' ? bySort(output) : { output }),
    finish: words[protocol][finish],
  }));
}

/** The only choice. A filtered reply that has a refusal, or else nothing, is complete. */
function expectedResponse({ choices }: Reply, whole: Json): unknown {
  const { output = [], finish = 'stop' } = choices.find(({ index }) => index === 0) ?? {};
  const refusals = strings(whole).flatMap(([path, said]) =>
    path.endsWith('.refusal') ? [said] : [],
  );
  if (finish === 'content_filter' && output.length === 0) expect(refusals).toHaveLength(1);
  const isComplete = finish === 'content_filter' && refusals.length > 0;
  return [
    {
      index: 0,
      // To the oracle, a refusal by the model is text.
      output: output.filter((part) => part.kind !== 'text' || !refusals.includes(part.text)),
      finish: isComplete ? 'completed' : words.responses[finish],
    },
  ];
}

function flatGot({ choices }: Got): unknown {
  return choices.map(({ index, output, finish }) => ({ index, output, finish }));
}

function bySort(output: readonly OutputPart[]): { readonly output: readonly OutputPart[] } {
  return {
    output: joined(
      ['thought', 'text', 'media', 'call'].flatMap((kind) =>
        output.filter((one) => one.kind === kind),
      ),
    ),
  };
}

function flat({ choices, figures }: Reply): unknown {
  const sorted = choices.map(({ index, output, finish }) => ({ index, finish, ...bySort(output) }));
  return { choices: sorted, figures };
}
