// suite: search
/** Nothing of a reply is lost silently, and a stream has the same content as the whole reply. */
import { describe, expect, it } from 'vitest';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import { drawn } from '../../support/seeds.ts';
import { answered, assembled } from '../laws/caller-side.ts';
import { framed, oracles } from '../laws/oracle.ts';
import { isRecord, type Json, list, record, without } from '../laws/tree.ts';
import { anthropicReply } from './anthropic-replies.ts';
import { geminiReply } from './gemini-replies.ts';
import { openaiReply } from './openai-replies.ts';
import { type Loss, searched } from './search.ts';
import { answerFor, type Outcome, type Route, routes, streamFor } from './translate.ts';
import { built, drawing, type Tree, withLists } from './tree.ts';

/** A longer search by hand: `LOSS_RUNS=5000 npx vitest run test/translate/loss`. */
const runs = Number(process.env.LOSS_RUNS ?? 30);
const firstSeed = Number(process.env.LOSS_SEED ?? 1);
/** One in this many objects has an unknown member. */
const planted = 12;

const makers = { openai: openaiReply, gemini: geminiReply, anthropic: anthropicReply } as const;

/** Leaves that callers don't get, and why. */
const unneeded: readonly {
  readonly place: RegExp;
  readonly over: string;
  /** The only protocol that it applies to. */
  readonly to?: Route['protocol'];
  readonly why: string;
}[] = [
  {
    place: /^(?:model|modelVersion)$/,
    over: 'gemini anthropic',
    why: 'a chat caller gets the name that he asked for',
  },
  {
    place: /^(?:created|createTime|system_fingerprint)$/,
    over: 'openai gemini',
    why: 'the caller’s form has none, or the time of the gateway',
  },
  {
    place: /^(?:service_tier|usage\.service_tier|usageMetadata\.trafficType)$/,
    over: 'openai gemini anthropic',
    why: 'how the account of the host is served is the host’s',
  },
  {
    place: /^candidates\.(?:avgLogprobs|tokenCount)$/,
    over: 'gemini',
    why: 'a mean and a count of values that are passed on themselves',
  },
  {
    place: /^candidates\.safetyRatings\.category$/,
    over: 'gemini',
    why: 'ratings are passed on where they blocked something',
  },
  {
    place: /^(?:id|responseId|model)$/,
    over: 'openai gemini anthropic',
    to: 'responses',
    why: 'the caller gets the name that he asked for, and an id of the gateway to refer to',
  },
  {
    place: /^(?:id|responseId|model)$/,
    over: 'openai gemini',
    to: 'messages',
    why: 'the caller gets the name that he asked for, and an id in the form of Anthropic’s',
  },
];

/** Callers of these APIs get one choice, the only one that the gateway requests for them. */
function madeFor(protocol: Route['protocol'], reply: Tree): Tree {
  if (protocol !== 'responses' && protocol !== 'messages') return reply;
  return withLists(reply, (name, value) =>
    name === 'choices' || name === 'candidates' ? value.slice(0, 1) : value,
  );
}

/** One route per pair is enough, because replies are read the same for all models. */
const pairs = routes.filter(
  (route, at) =>
    routes.findIndex(
      ({ protocol, dialect }) => protocol === route.protocol && dialect === route.dialect,
    ) === at,
);

const rows = pairs.map((route) => [route.protocol, route.dialect, route] as const);

describe('no leaf of a whole reply is lost silently', () => {
  it.each(rows)(
    '%s over %s',
    (protocol, dialect, route) => {
      const lost = new Map<string, Loss>();
      let leaves = 0;
      for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
        const reply = madeFor(protocol, makers[dialect](drawing(drawn(seed), planted)));
        const found = searched(reply, (document) => answeredFor(route, document));
        leaves += found.leaves;
        for (const loss of found.lost.filter((one) => !isUnneeded(one, route))) {
          lost.set(loss.place, lost.get(loss.place) ?? loss);
        }
      }
      const [first] = lost.values();
      expect([...lost.keys()].toSorted(), first?.example).toEqual([]);
      expect(leaves).toBeGreaterThan(runs * 5);
    },
    600_000,
  );
});

describe('a stream, split at any bytes, has the same content as the whole reply', () => {
  it.each(rows)(
    '%s over %s',
    (protocol, dialect, route) => {
      for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
        const draw = drawn(seed);
        const reply = record(built(makers[dialect](drawing(draw, planted))));
        const { json } = answerFor(route, reply);
        const bytes = Buffer.from(framed(dialect, eventsOf(dialect, reply, draw)).join(''));

        const streamed = streamFor(route, pieces(bytes, draw));

        const whole = assembled(protocol, answered(json, false));
        const folded = assembled(protocol, answered(streamed, true));
        expect(folded, JSON.stringify(reply)).toEqual(whole);
      }
    },
    600_000,
  );
});

describe('an OpenAI reply that ends in `error`', () => {
  const reply = (finish_reason: string): Json => ({
    id: 'x',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Half' }, finish_reason }],
  });
  const route = pairs.find(({ dialect }) => dialect === 'openai');

  it.each(['error', 'ERROR'])('is a failure: %s', (word) => {
    if (route === undefined) throw new Error('There is no such route.');
    const stream = framed('openai', eventsOf('openai', reply(word), drawn(1))).join('');

    expect(answerFor(route, reply(word)).refused).toBe('upstream_unusable_output');
    expect(() => streamFor(route, [Buffer.from(stream)])).toThrow('upstream_unusable_output');
    expect(answerFor(route, reply('stop')).refused).toBeUndefined();
  });
});

function isUnneeded({ place }: Loss, { protocol, dialect }: Route): boolean {
  return unneeded.some(
    (one) =>
      one.place.test(place) &&
      one.over.split(' ').includes(dialect) &&
      (one.to ?? protocol) === protocol,
  );
}

/** The list of what was dropped by the paths of the reply. */
function answeredFor(route: Route, document: unknown): Outcome {
  const outcome = answerFor(route, document);
  const named = outcome.dropped.flatMap((name) => [
    ...pathsOf(name, route.dialect, record(document)),
    ...(route.protocol === 'responses' ? responsesPathsOf(name, record(document)) : []),
    ...(route.protocol === 'messages' ? messagesPathsOf(name, record(document)) : []),
  ]);
  return { ...outcome, dropped: named };
}

const meanings: Readonly<Record<string, readonly string[]>> = {
  finish_message: ['stop_details.explanation', 'candidates.finishMessage'],
  citations: ['content.citations'],
  'annotations.start_index': [
    'choices.message.annotations.url_citation.start_index',
    'choices.message.annotations.url_citation.end_index',
  ],
};

/** What the items of a response can't express. */
const responsesMeanings: Readonly<Record<string, readonly string[]>> = {
  annotations: ['choices.message.annotations', 'candidates.groundingMetadata'],
  audio: ['choices.message.audio', 'candidates.content.parts.inlineData'],
  citation_metadata: ['candidates.citationMetadata'],
  grounding_metadata: ['candidates.groundingMetadata'],
  images: [
    'choices.message.images',
    'choices.message.content.image_url',
    'candidates.content.parts.inlineData',
  ],
  logprobs: ['choices.logprobs', 'candidates.logprobsResult'],
  safety_ratings: ['candidates.safetyRatings'],
  url_context_metadata: ['candidates.urlContextMetadata'],
};

/** What the blocks of a message can't express. */
const messagesMeanings: Readonly<Record<string, readonly string[]>> = {
  ...responsesMeanings,
  citations: ['choices.message.annotations', 'candidates.groundingMetadata'],
  'content.audio': responsesMeanings.audio ?? [],
  'content.image': responsesMeanings.images ?? [],
};

function messagesPathsOf(name: string, reply: Json): readonly string[] {
  return messagesMeanings[name] ?? responsesPathsOf(name, reply);
}

function responsesPathsOf(name: string, { candidates }: Json): readonly string[] {
  if (name !== 'parts') return responsesMeanings[name] ?? [];
  return list(record(record(list(candidates)[0]).content).parts).flatMap((part, index) =>
    Object.keys(record(part)).some((member) =>
      /^(?:fileData|toolCall|toolResponse|kind_|planted_)/.test(member),
    )
      ? [`candidates[0].content.parts[${index}]`]
      : [],
  );
}

function pathsOf(name: string, dialect: DialectName, reply: Json): readonly string[] {
  if (name.startsWith('reply.')) return [name.slice('reply.'.length)];
  if (dialect === 'anthropic' && name === 'blocks') return unknownIn('content', reply.content);
  if (dialect === 'openai' && name === 'content') {
    return list(reply.choices).flatMap((choice, at) =>
      unknownIn(`choices[${at}].message.content`, record(record(choice).message).content),
    );
  }
  if (name === 'extra_content.google.thought_signature') return textSignatures(reply);
  return meanings[name] ?? [name];
}

function textSignatures({ candidates }: Json): readonly string[] {
  return list(candidates).flatMap((candidate, at) =>
    list(record(record(candidate).content).parts).flatMap((part, index) =>
      typeof record(part).text === 'string'
        ? [`candidates[${at}].content.parts[${index}].thoughtSignature`]
        : [],
    ),
  );
}

const knownTypes: ReadonlySet<unknown> = new Set([
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'image_url',
]);

function unknownIn(at: string, parts: unknown): readonly string[] {
  return list(parts).flatMap((part, index) =>
    knownTypes.has(record(part).type) ? [] : [`${at}[${index}]`],
  );
}

/**
 * OpenAI's media, citations and logprobs come between the text and the calls, as in the whole
 * reply.
 */
function eventsOf(
  dialect: DialectName,
  reply: Json,
  draw: (below: number) => number,
): readonly Json[] {
  const events = oracles[dialect].stream(reply, draw);
  if (dialect !== 'openai') return events;
  const firsts = events.map((event) => restOf(event));
  const isEnd = (event: Json): boolean =>
    list(event.choices).every((choice) => record(choice).finish_reason !== null);
  const ends = events.findIndex(isEnd);
  const heads = events.map((event, at) => (firsts[at] === undefined ? event : roleOnly(event)));
  const content = heads.slice(0, ends);
  const rests = firsts.filter(isRecord);
  return [
    ...content.filter((event) => !isCall(event)),
    ...rests,
    ...heads.slice(ends).map(logprobsOf),
    ...content.filter(isCall),
    ...heads.slice(ends).map(withoutLogprobs),
  ];
}

function isCall(event: Json): boolean {
  return list(event.choices).some(
    (choice) => record(record(choice).delta).tool_calls !== undefined,
  );
}

function logprobsOf(event: Json): Json {
  const choices = list(event.choices).map((choice) => ({ ...record(choice), finish_reason: null }));
  return { ...without(event, 'usage'), choices };
}

function withoutLogprobs(event: Json): Json {
  const choices = list(event.choices).map((choice) => without(record(choice), 'logprobs'));
  return { ...event, choices };
}

function restOf(event: Json): Json | undefined {
  const [choice] = list(event.choices).map(record);
  const delta = record(choice?.delta);
  if (delta.role === undefined || choice === undefined) return undefined;
  return { ...event, choices: [{ ...choice, delta: without(delta, 'role') }] };
}

function roleOnly(event: Json): Json {
  const choices = list(event.choices).map((choice) => ({
    ...record(choice),
    delta: { role: 'assistant' },
  }));
  return { ...event, choices };
}

function pieces(bytes: Uint8Array, draw: (below: number) => number): readonly Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + draw(draw(4) === 0 ? 7 : 400);
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}
