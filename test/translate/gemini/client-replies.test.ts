// suite: slow
/** Every recorded Gemini reply in the common form, whole and streamed, compared with an oracle. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../../src/json.ts';
import { type Fixture, fixture, fixtures } from '../../support/recorded/fixtures.ts';
import { begin } from './client.ts';

const recorded = fixtures('gemini').filter(({ status }) => status === 200);

/** The documents of a recording: a single one, or one per event. */
function documents({ streamed, response }: Fixture): readonly JsonValue[] {
  const body = Buffer.from(response).toString('utf8');
  if (!streamed) return [JSON.parse(body)];
  return body
    .split(/\r?\n\r?\n/)
    .filter((block) => block.startsWith('data:'))
    .map((block) => JSON.parse(block.slice('data:'.length)));
}

function readWhole(all: readonly JsonValue[]): readonly ContentEvent[] {
  return begin().readReply(all.length === 1 ? (all[0] ?? null) : all);
}

function readStreamed(all: readonly JsonValue[]): readonly ContentEvent[] {
  const reader = begin().readStream();
  return [...all.flatMap((document) => reader.read(document)), ...reader.end()];
}

function named(name: string): readonly JsonValue[] {
  return documents(fixture(`gemini/${name}`));
}

/** The content of a reply, with consecutive pieces of one kind joined. */
type Piece = readonly ['text' | 'thought' | 'call' | 'media', string];

function joined(pieces: readonly Piece[]): readonly Piece[] {
  const all: Piece[] = [];
  for (const piece of pieces) {
    const last = all.at(-1);
    if (piece[0] !== 'call' && last?.[0] === piece[0]) {
      all.splice(-1, 1, [piece[0], last[1] + piece[1]]);
    } else if (piece[1] !== '') all.push(piece);
  }
  return all;
}

/** Reads the recording as directly as possible. No recording has two candidates. */
function oracle(all: readonly JsonValue[]): readonly Piece[] {
  const pieces: Piece[] = [];
  let open: { name: JsonValue; args: Record<string, string> } | undefined;
  const parts = all.flatMap((document) =>
    items(member(member(items(member(document, 'candidates'))[0], 'content'), 'parts')),
  );
  for (const part of parts) {
    const text = member(part, 'text');
    const called = member(part, 'functionCall');
    const run = member(part, 'executableCode');
    const ran = member(part, 'codeExecutionResult');
    const picture = member(part, 'inlineData');
    if (typeof text === 'string') {
      pieces.push([member(part, 'thought') === true ? 'thought' : 'text', text]);
    } else if (run !== undefined) {
      const code = String(member(run, 'code')).trimEnd();
      pieces.push(['text', `\`\`\`python\n${code}\n\`\`\`\n`]);
    } else if (ran !== undefined) {
      pieces.push(['text', `\`\`\`\n${String(member(ran, 'output')).trimEnd()}\n\`\`\`\n`]);
    } else if (picture !== undefined) {
      pieces.push(['media', String(member(picture, 'data')).slice(0, 100)]);
    } else if (called !== undefined) {
      const name = member(called, 'name');
      const isWhole = member(called, 'willContinue') === undefined;
      if (name !== undefined && isWhole) {
        const args = member(called, 'args') ?? undefined;
        pieces.push(['call', `${name}${args === undefined ? '' : JSON.stringify(args)}`]);
      } else if (name !== undefined) open = { name, args: {} };
      for (const piece of items(member(called, 'partialArgs'))) {
        const key = String(member(piece, 'jsonPath')).slice(2);
        if (open) open.args[key] = (open.args[key] ?? '') + member(piece, 'stringValue');
      }
      if (open && isWhole) {
        pieces.push(['call', `${open.name}${JSON.stringify(open.args)}`]);
        open = undefined;
      }
    }
  }
  return joined(pieces);
}

function piecesOf(events: readonly ContentEvent[]): readonly Piece[] {
  return joined(
    events.flatMap((event): readonly Piece[] => {
      switch (event.type) {
        case 'text':
          return [['text', event.text]];
        case 'reasoning':
          return [['thought', event.text]];
        case 'tool_begin':
          return [['call', event.name + event.arguments]];
        case 'media':
          return [['media', event.data.slice(0, 100)]];
        default:
          return [];
      }
    }),
  );
}

function last<Type extends ContentEvent['type']>(
  events: readonly ContentEvent[],
  type: Type,
): ContentEvent | undefined {
  return events.findLast((event) => event.type === type);
}

/** The events that end a reply: one finish per choice, or one for the whole reply. */
function endings(events: readonly ContentEvent[]): readonly ContentEvent[] {
  return events.filter(({ type }) => ['finish', 'blocked', 'unusable'].includes(type));
}

describe.each(recorded.map((one) => [one.name, one] as const))('%s', (_, one) => {
  const all = documents(one);
  const whole = readWhole(all);
  const streamed = readStreamed(all);

  it('gives the whole content in order, whole and streamed', () => {
    expect(piecesOf(whole)).toEqual(oracle(all));
    expect(piecesOf(streamed)).toEqual(oracle(all));
  });

  it('has one finish, after all content', () => {
    expect(endings(streamed)).toHaveLength(1);
    expect(endings(whole)).toEqual(endings(streamed));
    const [ending] = endings(streamed);
    const behind = ending === undefined ? [] : streamed.slice(streamed.indexOf(ending) + 1);
    expect(behind.filter(({ type }) => type !== 'usage')).toEqual([]);
  });

  it('finishes with tool_calls exactly if it stops with a call', () => {
    const finish = last(streamed, 'finish');
    const hasCalls = streamed.some(({ type }) => type === 'tool_begin');

    expect(finish?.type === 'finish' && finish.reason === 'tool_calls').toBe(hasCalls);
  });

  it('numbers calls without gaps, and gives each a unique id', () => {
    const calls = streamed.filter((event) => event.type === 'tool_begin');
    const ends = streamed.filter((event) => event.type === 'tool_end');

    expect(calls.map((call) => call.call)).toEqual(calls.map((_, index) => index));
    expect(ends.map((call) => call.call)).toEqual(calls.map((call) => call.call));
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
    expect(calls.every(({ id }) => id !== '')).toBe(true);
  });

  it('has the signature of every visible part', () => {
    const parts = all.flatMap((document) =>
      items(member(member(items(member(document, 'candidates'))[0], 'content'), 'parts')),
    );
    const sent = parts
      .filter((part) => member(part, 'executableCode') === undefined)
      .flatMap((part) => member(part, 'thoughtSignature') ?? []);

    const texts = streamed.flatMap(
      (event) => ('providerData' in event && event.providerData?.data) || [],
    );

    expect(texts).toEqual(sent);
  });

  it('has the usage that Gemini states', () => {
    const figures = Object.assign({}, ...all.map((document) => member(document, 'usageMetadata')));
    const event = last(whole, 'usage');
    const usage = event?.type === 'usage' ? event.usage : undefined;

    expect(last(streamed, 'usage')).toEqual(event);
    if (member(figures, 'promptTokenCount') === undefined) {
      expect(usage?.inputTokens ?? 0).toBe(0);
    } else {
      const total = member(figures, 'totalTokenCount') ?? member(figures, 'promptTokenCount') ?? 0;
      expect((usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)).toBe(total);
    }
  });

  it('begins with id and model, if Gemini sends them', () => {
    const [document] = all;
    const id = member(document, 'responseId');
    const model = member(document, 'modelVersion');

    const start = { type: 'start', id, model };
    expect(streamed[0]).toEqual(id === undefined && model === undefined ? streamed[0] : start);
  });
});

describe('finishes', () => {
  it.each([
    ['basic.1', { type: 'finish', choice: 0, reason: 'stop' }],
    ['v-stream-tool-3', { type: 'finish', choice: 0, reason: 'tool_calls' }],
    ['max-tokens-empty.1', { type: 'finish', choice: 0, reason: 'length' }],
    ['f-safety-no-content', { type: 'finish', choice: 0, reason: 'content_filter' }],
    ['f-stream-safety', { type: 'finish', choice: 0, reason: 'content_filter' }],
    [
      'f-stream-recitation',
      { type: 'finish', choice: 0, reason: 'content_filter', native: 'RECITATION' },
    ],
    [
      'f-stream-unknown-finish',
      { type: 'finish', choice: 0, reason: 'other', native: 'FAKE_ENUM' },
    ],
    ['f-missing-safety', { type: 'finish', choice: 0, reason: 'stop' }],
    ['f-finish-message-no-content', { type: 'unusable', reason: 'upstream_empty_response' }],
    ['f-empty-content', { type: 'unusable', reason: 'upstream_empty_response' }],
    ['f-only-prompt-feedback', { type: 'unusable', reason: 'upstream_empty_response' }],
    ['f-stream-prompt-blocked', { type: 'blocked', reason: 'SAFETY', message: undefined }],
    ['f-prompt-blocked-message', { type: 'blocked', reason: 'SAFETY', message: 'Reasons' }],
    [
      'f-prompt-blocked-unknown',
      { type: 'blocked', reason: 'FAKE_NEW_BLOCK_REASON', message: undefined },
    ],
    [
      'model-armor-prompt-block.1',
      {
        type: 'blocked',
        reason: 'MODEL_ARMOR',
        message: 'The prompt violated Prompt Injection and Jailbreak filters.',
      },
    ],
  ])('%s', (name, ending) => {
    expect(endings(readStreamed(named(name)))).toEqual([ending]);
  });

  it('has the ratings of a blocked reply', () => {
    const events = readStreamed(named('f-safety-no-content'));

    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'provider_specific',
        provider: 'gemini',
        name: 'safety_ratings',
      }),
    );
  });

  it('a stream is complete once its finish or block reason was received, and not before', () => {
    const wholeAfter = (name: string): readonly boolean[] => {
      const reader = begin().readStream();
      return named(name).map((document) => {
        reader.read(document);
        return reader.complete();
      });
    };

    expect(begin().readStream().complete()).toBe(false);
    expect(wholeAfter('v-stream-text')).toEqual([false, false, true]);
    expect(wholeAfter('f-stream-prompt-blocked')).toEqual([true]);
    expect(wholeAfter('f-missing-safety')).toEqual([false]);
  });

  it('emits the finish only at the end', () => {
    const reader = begin().readStream();

    const before = named('f-stream-error-mid').flatMap((document) => reader.read(document));

    expect(before.filter(({ type }) => type === 'finish')).toEqual([]);
    expect(reader.end()).toContainEqual({ type: 'finish', choice: 0, reason: 'stop' });
  });
});

describe('logprobs', () => {
  it('are read with or without alternatives', () => {
    const withTop = last(readWhole(named('logprobs.1')), 'logprobs');
    const without = last(readWhole(named('logprobs-no-top.1')), 'logprobs');

    const tokens = withTop?.type === 'logprobs' ? withTop.tokens : [];
    expect(tokens.map(({ token }) => token).join('')).toBe('2 + 2 = 4');
    expect(tokens[0]?.top[1]).toEqual({ token: '4', logprob: -4.1320033 });
    expect(without?.type === 'logprobs' && without.tokens.map(({ top }) => top.length)).toEqual([
      0, 0, 0, 0, 0, 0, 0,
    ]);
  });
});

describe('usage', () => {
  it('has separate counts of thoughts, cache and tools, if Gemini states them', () => {
    const events = readWhole(named('f-code-execution'));

    expect(last(events, 'usage')).toEqual({
      type: 'usage',
      usage: {
        inputTokens: 391,
        outputTokens: 384,
        cachedInputTokens: undefined,
        cacheWriteTokens: undefined,
        reasoningTokens: 192,
        audioInputTokens: undefined,
        audioOutputTokens: undefined,
      },
    });
  });
});

describe('a mutated reply', () => {
  const samples = recorded.flatMap(documents).filter((one) => JSON.stringify(one).length < 20_000);

  /** The document with the value of the given number replaced. */
  function mutated(document: JsonValue, place: number, value: JsonValue): JsonValue {
    let at = 0;
    const visit = (node: JsonValue): JsonValue => {
      at += 1;
      if (at === place) return value;
      if (Array.isArray(node)) return items(node).map(visit);
      if (!isJsonObject(node)) return node;
      return Object.fromEntries(Object.entries(node).map(([name, held]) => [name, visit(held)]));
    };
    return visit(document);
  }

  it('never makes the reader throw, and always has an end', () => {
    const odd = fc.oneof(
      fc.json().map((text) => parseJson(text) ?? null),
      fc.constantFrom<JsonValue>(null, [], {}, '', -1, 1e9, [null], '__proto__', [{}], { '': 0 }),
    );
    const changed = fc
      .tuple(fc.constantFrom(...samples), fc.array(fc.tuple(fc.nat(60), odd), { maxLength: 4 }))
      .map(([document, changes]) =>
        changes.reduce<JsonValue>((now, [place, value]) => mutated(now, place, value), document),
      );

    fc.assert(
      fc.property(fc.array(changed, { minLength: 1, maxLength: 4 }), (all) => {
        const events = readStreamed(all);
        const ends = endings(events);
        const choices = ends.flatMap((end) => (end.type === 'finish' ? [end.choice] : []));

        expect(ends.length).toBeGreaterThan(0);
        expect(new Set(choices).size).toBe(choices.length);
        expect(choices.length === 0 || choices.length === ends.length).toBe(true);
        const begun = events.filter(({ type }) => type === 'tool_begin');
        expect(events.filter(({ type }) => type === 'tool_end')).toHaveLength(begun.length);
        expect(() => readWhole(all)).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });
});
