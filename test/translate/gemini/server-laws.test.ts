// suite: quick
/** Properties of every reply to a native caller, whole or streamed, for any events. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unseal } from '../../../src/canonical/envelope.ts';
import type { ContentEvent, ReplyUsage } from '../../../src/canonical/reply.ts';
import type { ReplyHead } from '../../../src/dialects/codec.ts';
import { writeReply } from '../../../src/dialects/gemini/server/write-reply.ts';
import { writeStream } from '../../../src/dialects/gemini/server/write-stream.ts';
import { items, type JsonObject, type JsonValue, member, parseJson } from '../../../src/json.ts';

const head: ReplyHead = {
  fallbackId: 'fallback-1',
  createdSeconds: 0,
  newId: () => 'id',
  modelId: 'asked-1',
  wantsUsage: true,
  framing: 'sse',
};
const usage: ReplyUsage = {
  inputTokens: 10,
  outputTokens: 8,
  cachedInputTokens: undefined,
  cacheWriteTokens: undefined,
  reasoningTokens: 5,
  audioInputTokens: undefined,
  audioOutputTokens: undefined,
};

describe('the property', () => {
  it('a joined stream equals the whole reply of the same events', () => {
    fc.assert(
      fc.property(streams(), (rows) => {
        const whole = parseJson(writeReply(rows.flat(), head).text) ?? null;

        expect(assembled(documentsOf(rows))).toEqual(comparable(whole));
      }),
      { numRuns: 300 },
    );
  });

  it('every choice has one finish, in its last event', () => {
    fc.assert(
      fc.property(streams(), (rows) => {
        const candidates = documentsOf(rows).flatMap((one) => items(member(one, 'candidates')));
        const last = new Map(candidates.map((one) => [member(one, 'index'), one]));

        const finished = candidates.filter((one) => member(one, 'finishReason') !== undefined);

        expect(new Set(finished)).toEqual(new Set(last.values()));
      }),
      { numRuns: 200 },
    );
  });
});

function documentsOf(rows: readonly (readonly ContentEvent[])[]): readonly JsonValue[] {
  const writer = writeStream(head);
  const body = [...rows.map((row) => writer.write(row)), writer.end()].join('');
  return body.split('\r\n\r\n').flatMap((event) => {
    if (event === '') return [];
    expect(event).toMatch(/^data: \{[^\r\n\u2028\u2029]*\}$/);
    return [parseJson(event.slice('data: '.length)) ?? null];
  });
}

/**
 * Random streams like those of a reader: complete calls, one finish per choice, split into frames
 * anywhere.
 */
function streams(): fc.Arbitrary<readonly (readonly ContentEvent[])[]> {
  const events = fc
    .tuple(choiceEvents(0), fc.option(choiceEvents(1), { nil: [] }), fc.boolean())
    .map(([first, second, withUsage]): readonly ContentEvent[] => [
      { type: 'start', id: 'up-1', model: undefined },
      ...woven(first, second),
      ...(withUsage ? [{ type: 'usage', usage } as const] : []),
    ]);
  return fc
    .tuple(events, fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 8 }))
    .map(([all, sizes]) => cut(all, sizes));
}

function choiceEvents(choice: number): fc.Arbitrary<readonly ContentEvent[]> {
  const words = fc.string({ unit: 'grapheme', maxLength: 4 });
  const providerData = fc.option(
    fc.record({
      provider: fc.constantFrom('anthropic', 'openai'),
      kind: fc.constantFrom('signature' as const, 'encrypted' as const),
      data: words,
    }),
    { nil: undefined, freq: 4 },
  );
  const texts = fc.record({
    type: fc.constantFrom('text' as const, 'reasoning' as const),
    choice: fc.constant(choice),
    text: words,
    providerData,
  });
  const refusals = fc.record({
    type: fc.constant('refusal' as const),
    choice: fc.constant(choice),
    text: words,
  });
  const media = { type: 'media', choice, mimeType: 'image/png', data: 'AAAA' } as const;
  const logprobs = fc.integer({ min: -9, max: -1 }).map((number) => {
    const row = { token: 'a', logprob: number };
    return { type: 'logprobs', choice, tokens: [{ ...row, top: [row] }] } as const;
  });
  const calls = fc.dictionary(words, fc.integer()).map((args) => JSON.stringify(args, null, 1));
  const piece = fc.oneof(
    { weight: 5, arbitrary: texts.map((event): readonly ContentEvent[] => [event]) },
    refusals.map((event): readonly ContentEvent[] => [event]),
    fc.constant<readonly ContentEvent[]>([media]),
    logprobs.map((event): readonly ContentEvent[] => [event]),
    calls.map((args): readonly ContentEvent[] => [
      { type: 'tool_begin', choice, call: 0, id: 'i', name: 'f', arguments: args.slice(0, 2) },
      { type: 'tool_arguments', choice, call: 0, text: args.slice(2) },
      { type: 'tool_end', choice, call: 0 },
    ]),
  );
  const reason = fc.constantFrom('stop', 'length', 'tool_calls', 'content_filter', 'other');
  return fc
    .tuple(fc.array(piece, { maxLength: 8 }), reason)
    .map(([pieces, word]) => [...pieces.flat(), { type: 'finish', choice, reason: word }]);
}

function woven(
  one: readonly ContentEvent[],
  other: readonly ContentEvent[],
): readonly ContentEvent[] {
  const length = Math.max(one.length, other.length);
  return Array.from({ length }, (_, index) => [
    ...one.slice(index, index + 1),
    ...other.slice(index, index + 1),
  ]).flat();
}

function cut(
  events: readonly ContentEvent[],
  sizes: readonly number[],
): readonly (readonly ContentEvent[])[] {
  const rows: (readonly ContentEvent[])[] = [];
  for (let at = 0; at < events.length; ) {
    const size = sizes[rows.length % sizes.length] ?? 1;
    rows.push(events.slice(at, at + size));
    at += size;
  }
  return rows;
}

/** The reply that a client assembles from a stream by keeping every part. */
function assembled(documents: readonly JsonValue[]): unknown {
  const last = documents.at(-1);
  const byIndex = new Map<number, JsonValue[]>();
  for (const candidate of documents.flatMap((one) => items(member(one, 'candidates')))) {
    const index = Number(member(candidate, 'index'));
    byIndex.set(index, [...(byIndex.get(index) ?? []), candidate]);
  }
  const candidates = [...byIndex.entries()]
    .sort(([one], [other]) => one - other)
    .map(([, pieces]) => joinedCandidate(pieces));
  return { candidates, ...besides(last ?? null) };
}

/** A whole reply in the same form. */
function comparable(whole: JsonValue): unknown {
  const candidates = items(member(whole, 'candidates')).map((one) => joinedCandidate([one]));
  return { candidates, ...besides(whole) };
}

function besides(document: JsonValue): JsonObject {
  return {
    usage: member(document, 'usageMetadata') ?? null,
    model: member(document, 'modelVersion') ?? null,
    id: member(document, 'responseId') ?? null,
  };
}

function joinedCandidate(pieces: readonly JsonValue[]): unknown {
  const last = pieces.at(-1);
  const contents = pieces.flatMap((piece) => member(piece, 'content') ?? []);
  const parts = contents.flatMap((content) => items(member(content, 'parts')));
  const results = pieces.map((piece) => member(piece, 'logprobsResult'));
  return {
    hasContent: contents.length > 0,
    parts: parts.reduce(joinedParts, []),
    index: member(last, 'index'),
    finishReason: member(last, 'finishReason'),
    finishMessage: member(last, 'finishMessage'),
    average: member(last, 'avgLogprobs'),
    chosen: results.flatMap((result) => items(member(result, 'chosenCandidates'))),
    top: results.flatMap((result) => items(member(result, 'topCandidates'))),
  };
}

function joinedParts(parts: readonly JsonValue[], part: JsonValue): readonly JsonValue[] {
  const message = member(part, 'text');
  const signature = member(part, 'thoughtSignature');
  if (typeof message !== 'string') return [...parts, part];
  const thought = member(part, 'thought');
  const last = parts.at(-1);
  const before = member(last, 'text');
  const isHidden = unseal(String(signature))?.kind === 'encrypted';
  const joins = typeof before === 'string' && member(last, 'thought') === thought && !isHidden;
  if (!joins || member(last, 'thoughtSignature') !== undefined) {
    return message === '' && signature === undefined ? parts : [...parts, part];
  }
  const shown = { text: `${before}${message}`, ...(thought === undefined ? {} : { thought }) };
  const joined = signature === undefined ? shown : { ...shown, thoughtSignature: signature };
  return [...parts.slice(0, -1), joined];
}
