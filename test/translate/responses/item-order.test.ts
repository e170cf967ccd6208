// suite: slow
/**
 * Random sequences of items: whatever their order, nothing is lost, parts keep the order of their
 * items, and the results of calls follow directly, which every provider requires.
 */
import { describe, expect, it } from 'vitest';
import type { Part, Turn } from '../../../src/canonical/request.ts';
import type { JsonObject } from '../../../src/json.ts';
import { drawn } from '../../support/seeds.ts';
import { readBody, upstreams, writtenFor } from './read.ts';

const sequences = 400;

/** Draws items that name themselves: the text of item 3 is `<3>`. */
function itemsDrawn(draw: (below: number) => number): readonly JsonObject[] {
  const items: JsonObject[] = [];
  const open: string[] = [];
  const length = 1 + draw(12);
  for (let index = 0; index < length; index += 1) {
    const text = `<${index}>`;
    const id = `call_${draw(4)}_${draw(3)}`;
    const kind = draw(9);
    if (kind < 2) items.push({ role: 'user', content: text });
    else if (kind === 2) items.push({ role: draw(2) ? 'system' : 'developer', content: text });
    else if (kind === 3) items.push(assistant(text));
    else if (kind === 4) items.push(reasoning(text));
    else if (kind < 7) {
      items.push({ type: 'function_call', call_id: id, name: 'f', arguments: `{"is":"${text}"}` });
      open.push(id);
    } else {
      const answered = draw(5) === 0 ? id : open.splice(draw(open.length + 1), 1)[0];
      items.push({ type: 'function_call_output', call_id: answered ?? id, output: text });
    }
  }
  return [...items, { role: 'user', content: '<end>' }];
}

function assistant(text: string): JsonObject {
  return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] };
}

function reasoning(text: string): JsonObject {
  return { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text }] };
}

/** The item that a part comes from, by its path; undefined for a result that was made up. */
function indexOf({ at }: Part): number {
  return Number(/^input\[(\d+)\]/.exec(at)?.[1]);
}

function textsOf(part: Part): readonly string[] {
  if (part.kind === 'tool_result') return part.content.flatMap(textsOf);
  if (part.kind === 'tool_call') return [part.arguments];
  return part.kind === 'text' || part.kind === 'reasoning' ? [part.text] : [];
}

const seeds = Array.from({ length: sequences }, (_, index) => index + 1);
const read = seeds.map((seed) => {
  const input = itemsDrawn(drawn(seed));
  const { request } = readBody({ model: 'm', input });
  return { ...request, seed, input };
});

describe('random sequences of items', () => {
  it('every item is in the request, or listed', () => {
    for (const { seed, input, system, turns, dropped } of read) {
      const texts = [...system, ...turns.flatMap(({ parts }) => parts)].flatMap(textsOf).join();
      for (const [index] of input.slice(0, -1).entries()) {
        const isKept = texts.includes(`<${index}>`) || dropped.includes(`input[${index}]`);
        expect({ seed, index, isKept }).toEqual({ seed, index, isKept: true });
      }
    }
  });

  it('every turn with calls is followed by exactly their results, in call order', () => {
    for (const { seed, turns } of read) {
      for (const [index, turn] of turns.entries()) {
        const calls = turn.role === 'assistant' ? idsOf(turn, 'tool_call') : [];
        if (calls.length === 0) continue;
        const next = turns[index + 1];
        expect({ seed, role: next?.role, ids: next && idsOf(next, 'tool_result') }).toEqual({
          seed,
          role: 'user',
          ids: calls,
        });
        expect(next?.parts).toHaveLength(calls.length);
      }
    }
  });

  it('no results are anywhere else', () => {
    for (const { seed, turns } of read) {
      for (const [index, turn] of turns.entries()) {
        if (idsOf(turn, 'tool_result').length === 0) continue;
        expect({ seed, calls: idsOf(turns[index - 1], 'tool_call').length }).not.toEqual({
          seed,
          calls: 0,
        });
      }
    }
  });

  it('what the model said, what the user said and each instruction keep their order', () => {
    for (const { seed, system, turns } of read) {
      for (const role of ['assistant', 'user', 'system'] as const) {
        const parts = turns.filter((turn) => turn.role === role).flatMap((turn) => turn.parts);
        const ordered = role === 'system' ? [...system, ...parts] : parts;
        const indexes = ordered.filter(({ kind }) => kind !== 'tool_result').map(indexOf);
        expect({ seed, indexes }).toEqual({ seed, indexes: indexes.toSorted((a, b) => a - b) });
      }
    }
  });

  it.each(upstreams)('$dialect can be sent all of it', (upstream) => {
    for (const { input } of read) {
      const { request } = readBody({ model: 'm', input });
      expect(writtenFor(upstream, request).body).toBeTypeOf('object');
    }
  });
});

function idsOf(turn: Turn | undefined, kind: 'tool_call' | 'tool_result'): readonly string[] {
  return (turn?.parts ?? []).flatMap((part) => {
    if (part.kind !== kind) return [];
    return [part.kind === 'tool_call' ? part.id : part.callId];
  });
}
