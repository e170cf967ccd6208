// suite: search
/**
 * In a loop of three turns every signature goes up again, byte for byte and in its place: over
 * recorded and generated replies of each upstream, whichever way a client sends items back.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { type Habit, type Reply, type Upstream, upstreams } from '../loop.ts';
import { recordedReplies } from '../recorded-replies.ts';
import { habits, play } from './loop.ts';
import {
  anthropicReply,
  geminiReply,
  reasoningContentReply,
  reasoningDetailsReply,
} from './made-replies.ts';
import { type OutputPart, outputIn, sealsIn } from './model-output.ts';

const settings: Readonly<Record<string, JsonObject>> = {
  'with summaries': { reasoning: { summary: 'auto' } },
  'without summaries': {},
  'without the store': { store: false, include: ['reasoning.encrypted_content'] },
};
const ways = Object.entries(habits).flatMap(([way, habit]) =>
  Object.entries(settings).map(
    ([asked, body]) => [`${way}, ${asked}`, { habit, settings: body }] as const,
  ),
);

/** Checks each request against all replies before it. */
function expectLoop(
  upstream: Upstream,
  replies: readonly Reply[],
  way: { readonly habit: Habit; readonly settings: JsonObject },
): void {
  const { received, sent, dropped } = play(upstream, replies, way);

  sent.forEach((turns, request) => {
    expect(turns.filter(hasParts)).toEqual(received.slice(0, request).filter(hasParts));
  });
  expect(dropped.filter((name) => name.startsWith('input') && !isNotOurs(name, way))).toEqual([]);
}

/** All output is sent back, except unsigned thoughts. */
function hasParts(output: readonly OutputPart[]): boolean {
  return output.length > 0;
}

/** Reasoning that was only shown is listed if nothing tells that this gateway made it. */
function isNotOurs(dropped: string, { habit }: { readonly habit: Habit }): boolean {
  return habit === habits['items without ids'] && /^input\[\d+\]$/.test(dropped);
}

describe('recorded replies', () => {
  it('are those that were recorded with reasoning, signatures and calls', () => {
    const found = recordedReplies.map(([upstream, { dialect }, replies]) => {
      const parts = replies.flatMap(({ documents }) => outputIn(dialect, documents));
      return [upstream, replies.length, [...new Set(parts.map(([kind]) => kind))].sort()];
    });

    expect(found).toEqual([
      ['Anthropic', 22, ['call', 'redacted', 'text', 'thinking']],
      ['Gemini', 39, ['call', 'signature', 'text']],
      ['a server with reasoning_content', 4, ['call', 'reasoning', 'text']],
      ['Google’s compatible API', 2, ['call', 'signature', 'text']],
    ]);
  });

  describe.each(recordedReplies)('of %s', (_, upstream, replies) => {
    it.each(ways)('come back unchanged: %s', (_way, way) => {
      replies.forEach((reply, index) => {
        const next = replies[(index + 1) % replies.length] ?? reply;
        expectLoop(upstream, [reply, next], way);
      });
    });
  });
});

describe('generated replies', () => {
  const generators: readonly [string, Upstream, fc.Arbitrary<Reply>][] = [
    ['Anthropic', upstreams.anthropic, anthropicReply],
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
});

describe('a conversation that changes its model', () => {
  const changes: readonly [string, Upstream, fc.Arbitrary<Reply>, Upstream][] = [
    ['Anthropic to Gemini', upstreams.anthropic, anthropicReply, upstreams.gemini],
    ['Anthropic to a compatible server', upstreams.anthropic, anthropicReply, upstreams.deepseek],
    ['Gemini to Anthropic', upstreams.gemini, geminiReply, upstreams.anthropic],
    ['Gemini to a compatible server', upstreams.gemini, geminiReply, upstreams.deepseek],
    ['OpenRouter to Gemini', upstreams.openrouter, reasoningDetailsReply, upstreams.gemini],
  ];

  it.each(
    changes,
  )('from %s takes no signature along, and lists each', (_, upstream, reply, last) => {
    fc.assert(
      fc.property(reply, fc.constantFrom(...Object.values(habits)), (one, habit) => {
        const { received, dropped, lastBody } = play(upstream, [one], { habit, last });
        const seals = sealsIn(received[0] ?? []);

        for (const seal of seals) expect(lastBody).not.toContain(JSON.stringify(seal));
        expect(lastBody).not.toMatch(/Z3c[xy]O/);
        const listed = dropped.filter((name) => name.endsWith('.encrypted_content'));
        expect(listed).toHaveLength(seals.length);
      }),
      { numRuns: 100 },
    );
  });
});
