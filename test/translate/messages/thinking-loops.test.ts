// suite: search
/**
 * In a loop of three turns every signature goes up again, byte for byte and in its place: over
 * recorded and generated replies of each upstream, whichever way a client sends blocks back.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placeholderSignature } from '../../../src/dialects/gemini/placeholder-signature.ts';
import type { JsonObject } from '../../../src/json.ts';
import { type Habit, type Reply, type Upstream, upstreams } from '../loop.ts';
import { recordedReplies } from '../recorded-replies.ts';
import {
  anthropicReply,
  geminiReply,
  reasoningContentReply,
  reasoningDetailsReply,
} from '../responses/made-replies.ts';
import { type OutputPart, outputIn, sealsIn } from '../responses/model-output.ts';
import { habits, play } from './loop.ts';

type Settings = JsonObject;

const shownSettings: Readonly<Record<string, Settings>> = {
  'with thinking': { thinking: { type: 'enabled', budget_tokens: 2_000 }, max_tokens: 4_000 },
  'with thinking that is omitted': { thinking: { type: 'adaptive', display: 'omitted' } },
};
const offSettings: Readonly<Record<string, Settings>> = {
  'without thinking': {},
  'with thinking disabled': { thinking: { type: 'disabled' } },
};
const ways = waysOf(shownSettings);
const offWays = waysOf(offSettings);

interface Way {
  readonly habit: Habit;
  readonly settings: Settings;
}

function waysOf(all: Readonly<Record<string, Settings>>): readonly (readonly [string, Way])[] {
  return Object.entries(habits).flatMap(([way, habit]) =>
    Object.entries(all).map(
      ([name, settings]) => [`${way}, ${name}`, { habit, settings }] as const,
    ),
  );
}

type Output = readonly OutputPart[];

/** Checks each request against all replies before it. */
function expectLoop(
  upstream: Upstream,
  replies: readonly Reply[],
  way: Way,
  seen: (output: Output) => Output = (output) => output,
): void {
  const { received, sent, dropped } = play(upstream, replies, way);

  sent.forEach((turns, request) => {
    const before = received.slice(0, request);
    expect(turns.map(seen).filter(hasParts)).toEqual(before.map(seen).filter(hasParts));
  });
  expect(dropped).not.toContain('messages.thinking');
}

function hasParts(output: Output): boolean {
  return output.length > 0;
}

/**
 * What a caller without thinking carries: all that the provider checks. Reasoning may change its
 * place among texts, and a signature of text is kept only for the last text before a call.
 */
function needed(output: Output): Output {
  const hasCall = output.some(([kind]) => kind === 'call');
  const kinds = hasCall ? ['call', 'detail', 'reasoning', 'thought'] : [];
  const texts = output.flatMap(([kind, text = '']) => (kind === 'text' ? [text] : [])).join('');
  const others = kinds.flatMap((kind) => output.filter((part) => part[0] === kind));
  return texts === '' ? others : [['text', texts], ...others];
}

const sets = recordedReplies.filter(([, { dialect }]) => dialect !== 'anthropic');

describe('recorded replies', () => {
  it('are of each upstream with reasoning or signatures', () => {
    expect(sets.map(([upstream, , replies]) => [upstream, replies.length])).toEqual([
      ['Gemini', 39],
      ['a server with reasoning_content', 4],
      ['Google’s compatible API', 2],
    ]);
  });

  describe.each(sets)('of %s', (_, upstream, replies) => {
    const turns = replies.map((reply, index) => [reply, replies[(index + 1) % replies.length]]);

    it.each(ways)('come back unchanged: %s', (_way, way) => {
      for (const [reply, next = reply] of turns) {
        if (reply !== undefined && next !== undefined) expectLoop(upstream, [reply, next], way);
      }
    });

    it.each(offWays)('bring back what the provider needs: %s', (_way, way) => {
      for (const [reply, next = reply] of turns) {
        if (reply === undefined || next === undefined) continue;
        expectLoop(upstream, [reply, next], way, needed);
      }
    });
  });
});

describe('generated replies', () => {
  const generators: readonly [string, Upstream, fc.Arbitrary<Reply>][] = [
    ['Gemini', upstreams.gemini, geminiReply],
    ['a server with reasoning_content', upstreams.deepseek, reasoningContentReply],
    ['OpenRouter', upstreams.openrouter, reasoningDetailsReply],
  ];

  it.each(generators)('of %s come back unchanged', (_, upstream, reply) => {
    const way = fc.constantFrom(...ways.map(([, one]) => one));
    fc.assert(
      fc.property(fc.tuple(reply, reply), way, (replies, one) =>
        expectLoop(upstream, replies, one),
      ),
      { numRuns: 250 },
    );
  });

  it.each(generators)('of %s bring back what it needs without thinking', (_, upstream, reply) => {
    const way = fc.constantFrom(...offWays.map(([, one]) => one));
    fc.assert(
      fc.property(fc.tuple(reply, reply), way, (replies, one) =>
        expectLoop(upstream, replies, one, needed),
      ),
      { numRuns: 250 },
    );
  });
});

describe('a conversation that changes its model', () => {
  const changes: readonly [string, Upstream, fc.Arbitrary<Reply>, Upstream][] = [
    ['Gemini to a compatible server', upstreams.gemini, geminiReply, upstreams.deepseek],
    ['OpenRouter to Gemini', upstreams.openrouter, reasoningDetailsReply, upstreams.gemini],
    ['OpenRouter to OpenAI', upstreams.openrouter, reasoningDetailsReply, upstreams.openai],
  ];
  const habit = fc.constantFrom(...Object.values(habits));
  const settings = fc.constantFrom(...Object.values({ ...shownSettings, ...offSettings }));

  it.each(changes)('from %s takes no signature along, and lists it once', (...row) => {
    const [, upstream, reply, last] = row;
    fc.assert(
      fc.property(reply, habit, settings, (one, way, body) => {
        const { received, dropped, lastBody } = play(upstream, [one], {
          habit: way,
          settings: body,
          last,
        });
        const seals = sealsIn(received[0] ?? []);

        for (const seal of seals) expect(lastBody).not.toContain(JSON.stringify(seal));
        expect(lastBody).not.toMatch(/Z3c[xy]O/);
        const isKept =
          body.thinking !== undefined && body !== offSettings['with thinking disabled'];
        if (isKept) expect(dropped.includes('messages.thinking')).toBe(seals.length > 0);
        expect(dropped.filter((name) => /^messages\[1\]\.content/.test(name))).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });
});

describe('the thinking of Anthropic', () => {
  /** The messages of a conversation with Anthropic, as its client would send them on. */
  const historyOf = ({ documents }: Reply): readonly OutputPart[] =>
    outputIn('anthropic', documents);

  it.each([
    ['Gemini', upstreams.gemini],
    ['a compatible server', upstreams.deepseek],
    ['OpenRouter', upstreams.openrouter],
  ] as const)('is left out over %s, and listed once', (_, upstream) => {
    const asBlock: Habit = (blocks) => blocks;
    fc.assert(
      fc.property(anthropicReply, (reply) => {
        const parts = historyOf(reply);
        const content = parts.map(blockOf);
        const calls = parts.filter(([kind]) => kind === 'call');
        const { sent, dropped, lastBody } = play(upstream, [], {
          habit: asBlock,
          settings: { messages: conversation(content) },
        });

        for (const seal of sealsIn(parts)) expect(lastBody).not.toContain(JSON.stringify(seal));
        expect(dropped.filter((name) => name === 'messages.thinking').length > 0).toBe(
          sealsIn(parts).length > 0,
        );
        const sentCalls = (sent[0] ?? []).flat().filter(([kind]) => kind === 'call');
        expect(sentCalls.map(([, name, args]) => [name, args])).toEqual(
          calls.map(([, name, args]) => [name, args]),
        );
        // Gemini 3 refuses the first call of a turn without a signature.
        const signatures = sentCalls.map(([, , , signature]) => signature);
        if (upstream === upstreams.gemini && calls.length > 0) {
          expect(signatures).toEqual([placeholderSignature, ...calls.slice(1).map(() => '')]);
        }
      }),
      { numRuns: 150 },
    );
  });
});

function blockOf([kind, first = '', second = '']: OutputPart, index: number): JsonObject {
  switch (kind) {
    case 'thinking':
      return { type: 'thinking', thinking: first, signature: second };
    case 'redacted':
      return { type: 'redacted_thinking', data: first };
    case 'call':
      return { type: 'tool_use', id: `toolu_${index}`, name: first, input: JSON.parse(second) };
    default:
      return { type: 'text', text: first };
  }
}

function conversation(content: readonly JsonObject[]): readonly JsonObject[] {
  const calls = content.filter(({ type }) => type === 'tool_use');
  const results = calls.map(({ id = '' }) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: 'done',
  }));
  return [
    { role: 'user', content: 'Go.' },
    { role: 'assistant', content },
    { role: 'user', content: results.length === 0 ? 'Go on.' : results },
  ];
}
