// suite: slow
/** Requests written for Anthropic satisfy the rules of its API, for any request of a caller. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContentRequest, Part, Turn } from '../../../src/canonical/request.ts';
import { isGatewayError } from '../../../src/errors.ts';
import { items, type JsonValue, member } from '../../../src/json.ts';
import { call, instruction, result, signedThought, target, text, written } from './client.ts';

const words = fc.constantFrom('', ' ', '\n', 'Yes.', 'So ', '  x', '😀');
const ids = fc.constantFrom('a', 'b', 'call:1', 'x'.repeat(80), '', 'ä');
const names = fc.constantFrom('look', 'maps.look:up', 'json', 'n'.repeat(150));

const assistantPart: fc.Arbitrary<Part> = fc.oneof(
  words.map((one) => text(one)),
  words.map((one) => signedThought(one)),
  words.map((one): Part => ({ kind: 'reasoning', text: one, at: 'thought' })),
  fc
    .tuple(ids, names, fc.constantFrom('', '{}', '{"a":1}', '[1]', '{', '1'))
    .map(([id, name, json]) => call(id === '' ? 'derived' : id, name, json)),
);

const userPart: fc.Arbitrary<Part> = fc.oneof(
  words.map((one) => text(one)),
  fc.tuple(ids, words, names).map(([id, one, name]) => result(id, one, name)),
);

const turn: fc.Arbitrary<Turn> = fc.oneof(
  fc.array(assistantPart, { maxLength: 4 }).map((parts): Turn => ({ role: 'assistant', parts })),
  fc.array(userPart, { maxLength: 4 }).map((parts): Turn => ({ role: 'user', parts })),
  words.map((one) => instruction(text(one))),
);

const request: fc.Arbitrary<Partial<ContentRequest>> = fc.record({
  system: fc.array(
    words.map((one) => text(one)),
    { maxLength: 3 },
  ),
  turns: fc.array(turn, { maxLength: 8 }),
  reasoning: fc.constantFrom(undefined, {
    effort: 'medium' as const,
    budgetTokens: undefined,
    includeThoughts: undefined,
  }),
  temperature: fc.constantFrom(undefined, 0, 0.7, 1, 2),
  topP: fc.constantFrom(undefined, 0.5, 0.99),
  topK: fc.constantFrom(undefined, 40),
});

const models = fc.constantFrom(
  'claude-opus-5',
  'claude-opus-4-6',
  'claude-sonnet-4-5',
  'claude-3-7-sonnet',
  'claude-3-haiku',
);

describe('a written request', () => {
  it('satisfies the rules of the Messages API', () => {
    let sent = 0;

    fc.assert(
      fc.property(request, models, (members, model) => {
        const body = bodyOf(members, model);
        if (body === undefined) return;
        sent += 1;
        expect(broken(body)).toEqual([]);
      }),
      { numRuns: 1_500 },
    );
    expect(sent).toBeGreaterThan(500);
  });

  it('is the same each time, so that prompt caches match and signatures stay valid', () => {
    fc.assert(
      fc.property(request, models, (members, model) => {
        expect(bodyOf(members, model)).toEqual(bodyOf(members, model));
      }),
      { numRuns: 200 },
    );
  });

  it('has every visible word of the turns, in order', () => {
    fc.assert(
      fc.property(request, (members) => {
        const body = bodyOf(members, 'claude-opus-5');
        if (body === undefined) return;
        const spoken = (members.turns ?? [])
          .filter(({ role }) => role !== 'system')
          .flatMap(({ parts }) => parts)
          .flatMap((part) => (part.kind === 'text' && part.text.trim() !== '' ? [part.text] : []));
        const sent = messagesOf(body)
          .filter((message) => member(message, 'role') !== 'system')
          .flatMap(blocksOf)
          .filter((block) => typeof member(block, 'text') === 'string')
          .map((block) => member(block, 'text'));
        // Unmatched results become text, and an instruction at the end becomes a user message.
        expect(subsequence(spoken, sent)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

/** The rules that the body violates. */
function broken(body: JsonValue): readonly string[] {
  const messages = messagesOf(body);
  const roles = messages.map((message) => member(message, 'role'));
  const thinking = member(body, 'thinking');
  const isThinking = ['enabled', 'adaptive'].includes(String(member(thinking, 'type')));
  const temperature = member(body, 'temperature');
  const rules: Readonly<Record<string, boolean>> = {
    'there is a message': messages.length > 0,
    'roles alternate': roles.every((role, index) => role !== roles[index - 1]),
    'instructions follow the user': roles.every(
      (role, index) =>
        role !== 'system' ||
        (roles[index - 1] === 'user' && [undefined, 'assistant'].includes(word(roles[index + 1]))),
    ),
    'no text is blank': [...messages.flatMap(blocksOf), ...items(member(body, 'system'))].every(
      hasText,
    ),
    'every call is answered, first of all': messages.every((message, index) =>
      isAnswered(message, messages[index + 1] ?? null),
    ),
    'no result without its call': messages.every((message, index) =>
      hasCalls(message, messages[index - 1] ?? null),
    ),
    'ids are distinct': areDistinct(messages.flatMap(blocksOf).map(idOf).filter(isDefined)),
    'names and ids fit': messages.flatMap(blocksOf).every(fits),
    'the head is not empty':
      items(member(body, 'system')).length > 0 || !('system' in Object(body)),
    'calls have declarations':
      items(member(body, 'tools')).length > 0 || !messages.flatMap(blocksOf).some(isCall),
    'the end has no white space': endsWell(messages.at(-1) ?? null),
    'thinking has room':
      !isThinking ||
      Number(member(thinking, 'budget_tokens') ?? 0) < Number(member(body, 'max_tokens')),
    'thinking goes with its parameters only':
      !isThinking ||
      ((temperature === undefined || temperature === 1) && member(body, 'top_k') === undefined),
    'temperature is in its scale': temperature === undefined || Number(temperature) <= 1,
  };
  return Object.keys(rules).filter((rule) => rules[rule] === false);
}

function messagesOf(body: JsonValue): readonly JsonValue[] {
  return items(member(body, 'messages'));
}

function blocksOf(message: JsonValue): readonly JsonValue[] {
  return items(member(message, 'content'));
}

function word(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function hasText(block: JsonValue): boolean {
  const inner = items(member(block, 'content'));
  const text = member(block, 'type') === 'text' ? String(member(block, 'text')) : 'other';
  return text.trim() !== '' && inner.every(hasText);
}

function isCall(block: JsonValue): boolean {
  return member(block, 'type') === 'tool_use';
}

function isResult(block: JsonValue): boolean {
  return member(block, 'type') === 'tool_result';
}

function idOf(block: JsonValue): string | undefined {
  return isCall(block) ? word(member(block, 'id')) : undefined;
}

function isDefined(id: string | undefined): id is string {
  return id !== undefined;
}

function areDistinct(values: readonly string[]): boolean {
  return new Set(values).size === values.length;
}

function isAnswered(message: JsonValue, next: JsonValue): boolean {
  const calls = blocksOf(message).filter(isCall).map(idOf);
  const answers = blocksOf(next)
    .slice(0, calls.length)
    .map((block) => (isResult(block) ? member(block, 'tool_use_id') : undefined));
  return JSON.stringify(calls) === JSON.stringify(answers);
}

function hasCalls(message: JsonValue, before: JsonValue): boolean {
  const calls = blocksOf(before).filter(isCall).map(idOf);
  return blocksOf(message)
    .filter(isResult)
    .every((block) => calls.includes(word(member(block, 'tool_use_id'))));
}

function fits(block: JsonValue): boolean {
  if (!isCall(block)) return true;
  const isObject = /^\{.*\}$/s.test(JSON.stringify(member(block, 'input')));
  return (
    isObject &&
    /^[a-zA-Z0-9_-]{1,64}$/.test(String(member(block, 'id'))) &&
    /^[a-zA-Z0-9_-]{1,128}$/.test(String(member(block, 'name')))
  );
}

function endsWell(message: JsonValue): boolean {
  const output = member(blocksOf(message).at(-1) ?? null, 'text');
  if (member(message, 'role') !== 'assistant') return true;
  return typeof output !== 'string' || output === output.trimEnd();
}

/** The body, or undefined if the request is refused. Any other error is thrown. */
function bodyOf(members: Partial<ContentRequest>, model: string): JsonValue | undefined {
  try {
    return written(members, target(model)).body;
  } catch (error) {
    if (isGatewayError(error) && error.code === 'not_portable') return undefined;
    throw error;
  }
}

function subsequence(wanted: readonly string[], given: readonly unknown[]): boolean {
  let next = 0;
  for (const one of given) {
    const want = wanted[next];
    // Blank texts beside it are joined to it, and a prefill does not end in white space.
    if (want !== undefined && String(one).includes(want.trimEnd())) next += 1;
  }
  return next === wanted.length;
}
