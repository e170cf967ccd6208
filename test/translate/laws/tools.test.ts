// suite: search
/** A call that is echoed with its result reaches any upstream unchanged. */
import { describe, expect, it } from 'vitest';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import { chat } from '../../support/any-model-gateway.ts';
import type { Protocol } from './caller-side.ts';
import {
  asking,
  document,
  exchanged,
  goodStreams,
  type Pair,
  pairs,
  protocolsOf,
  type Recorded,
  wholes,
} from './exchange.ts';
import { echoed, resultOf, type Sent, sentIn } from './history.ts';
import { documentsOf, type OutputPart, oracles } from './oracle.ts';
import { type Json, parsed, record, strings } from './tree.ts';

type Call = Extract<OutputPart, { kind: 'call' }>;

interface Case {
  readonly name: string;
  readonly dialect: DialectName;
  readonly whole: Json;
  readonly calls: readonly Call[];
}

/** Every recording with tool calls. */
const cases: readonly Case[] = [...wholes, ...goodStreams]
  .map((recorded) => ({ ...caseOf(recorded), name: recorded.name }))
  .filter(({ calls }) => calls.length > 0);

/** Each recording with each translated upstream that its caller may use next. */
const journeys = cases.flatMap((one) =>
  protocolsOf(one.dialect).flatMap((protocol) =>
    pairs
      .filter((pair) => pair.protocol === protocol)
      .map(({ dialect: next }) => [one.name, protocol, next, one] as const),
  ),
);

describe('a call with its result', () => {
  it.each(journeys)('of %s is sent by %s to %s', async (_name, protocol, next, one) => {
    const answer = await answerOf(one, protocol);
    const backwards = one.calls.map((_, position) => position).reverse();
    const isById = protocol !== 'native' || distinctNames(one);
    for (const hasIds of protocol === 'native' ? [true, false] : [true]) {
      // Without ids, calls of one name can only be distinguished by their order.
      const order = hasIds || isById ? backwards : [...backwards].reverse();
      const body = await sentBody(protocol, next, echoed(protocol, answer, { order, hasIds }));
      const sent = sentIn[next](record(JSON.parse(body)));

      expect(sent.calls.map(({ name, args }) => ({ name, args }))).toEqual(
        one.calls.map(({ name, args }) => ({ name, args })),
      );
      expectPaired(sent, next, answer);
    }
  });

  it.each(journeys)('of %s by %s has only signatures of %s itself', async (...row) => {
    const [, protocol, next, one] = row;
    const answer = await answerOf(one, protocol);
    const order = one.calls.map((_, position) => position);
    const body = await sentBody(protocol, next, echoed(protocol, answer, { order, hasIds: true }));
    const sent = sentIn[next](record(JSON.parse(body)));
    const made = signaturesIn(one.whole);
    // A provider may pass on data signed by Anthropic, marked as such, which is valid for
    // Anthropic; and Google's compatible endpoint sends Google's.
    const isPassedOn = isAnthropics(one.whole) || (next === 'gemini' && isGoogles(one.name));
    const isForeign = next !== one.dialect && !isPassedOn;

    if (isForeign) {
      const given = strings(JSON.parse(answer)).filter(([path]) => /ignature$/.test(path));
      for (const signature of [...made, ...given.map(([, data]) => data)]) {
        expect(body).not.toContain(signature);
      }
      return;
    }
    if (next === 'openai') return;
    if (next === 'gemini') expectOwnSignatures(sent, one);
    if (next === 'anthropic') expect(sent.thoughts).toEqual(made);
  });
});

describe.each(
  pairs,
)('a number with more digits than a double has, $dialect to $protocol', (pair) => {
  const args = '{"n":12345678901234567890,"f":0.1234567890123456789,"e":[1e400]}';

  it('keeps them in a reply if its source is text', async () => {
    const whole = textualCall(pair.dialect, args);
    // Gemini's arguments are an object, so that parsing it loses digits.
    if (whole === undefined) return;

    const { answer: reply } = await exchanged(pair.dialect, asking(pair.protocol, 'sse'), whole);

    expect(unescaped(reply.text)).toContain('12345678901234567890');
    expect(unescaped(reply.text)).toContain('0.1234567890123456789');
  });

  it('keeps them in a chat request', async () => {
    if (pair.protocol === 'native') return;
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: args } };
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: '{"n":98765432109876543210}' },
    ];

    const body = await sentBody(
      'chat',
      pair.dialect,
      chat(JSON.stringify({ model: 'm', messages })),
    );

    expect(unescaped(body)).toContain('"n":12345678901234567890,"f":0.1234567890123456789');
    expect(unescaped(body)).toContain('98765432109876543210');
  });
});

function caseOf({ dialect, isStream, text }: Recorded): Omit<Case, 'name'> {
  const whole = isStream
    ? oracles[dialect].whole(documentsOf(text).map(record))
    : record(parsed(text));
  const output = oracles[dialect].reply(whole).choices[0]?.output ?? [];
  const calls = output.filter((piece): piece is Call => piece.kind === 'call');
  return { dialect, whole, calls };
}

async function answerOf({ dialect, whole }: Case, protocol: Protocol): Promise<string> {
  const scripted = document(JSON.stringify(whole));
  const { answer: reply } = await exchanged(dialect, asking(protocol, 'json'), scripted);
  expect(reply.status).toBe(200);
  return reply.text;
}

async function sentBody(
  protocol: Protocol,
  dialect: Pair['dialect'],
  request: Parameters<typeof exchanged>[1],
): Promise<string> {
  const { sent, answer: reply } = await exchanged(dialect, request, document('{}'));
  expect(sent, `${protocol}: ${reply.text}`).not.toBe('');
  return sent;
}

function distinctNames({ calls }: Case): boolean {
  return new Set(calls.map(({ name }) => name)).size === calls.length;
}

/** Each call has exactly its result; all providers but OpenAI require them in call order. */
function expectPaired({ calls, results }: Sent, next: DialectName, answer: string): void {
  expect(results).toHaveLength(calls.length);
  const ids = calls.map(({ id }) => id);
  const hasIds = ids.every((id) => id !== undefined);
  if (hasIds) expect(new Set(ids).size).toBe(ids.length);
  for (const [position, call] of calls.entries()) {
    const result = next === 'openai' ? results.find(({ id }) => id === call.id) : results[position];
    expect(result?.id, answer).toBe(call.id);
    expect(result?.content).toContain(resultOf(position).marker);
    if (next === 'gemini') expect(result?.name).toBe(call.name);
  }
}

/** Google's signatures return to the calls that had them. */
function expectOwnSignatures({ calls }: Sent, { whole }: Case): void {
  const parts = strings(whole).length === 0 ? [] : partsOf(whole);
  const made = parts
    .filter(({ functionCall }) => functionCall !== undefined)
    .map(({ thoughtSignature }) => thoughtSignature);
  made.forEach((signature, position) => {
    if (signature !== undefined) expect(calls[position]?.signature).toBe(signature);
    else if (position > 0) expect(calls[position]?.signature).toBeUndefined();
  });
}

function partsOf(whole: Json): readonly Json[] {
  const [candidate] = Array.isArray(whole.candidates) ? whole.candidates : [];
  const { parts } = record(record(candidate).content);
  return Array.isArray(parts) ? parts.map(record) : [];
}

function isGoogles(name: string): boolean {
  return name.startsWith('openai-compat/google-');
}

function isAnthropics(whole: Json): boolean {
  return strings(whole).some(([path, word]) => /format$/.test(path) && /^anthropic/.test(word));
}

/** Signatures and encrypted data of providers. */
function signaturesIn(whole: Json): readonly string[] {
  return strings(whole)
    .filter(
      ([path, data]) =>
        /\.(?:thoughtSignature|signature|thought_signature)$|content\[\]\.data$/.test(path) &&
        data !== '',
    )
    .map(([, data]) => data);
}

/** A stream with arguments as text. */
function textualCall(dialect: DialectName, args: string): ReturnType<typeof document> | undefined {
  const headers = { 'content-type': 'text/event-stream' };
  const framed = (...documents: readonly Json[]) => ({
    headers,
    chunks: [documents.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')],
  });
  if (dialect === 'openai') {
    const call = { index: 0, id: 'call_1', function: { name: 'f', arguments: args } };
    const delta = { tool_calls: [call] };
    return framed({ id: 'c', choices: [{ index: 0, delta, finish_reason: 'tool_calls' }] });
  }
  if (dialect === 'gemini') return undefined;
  const index = 0;
  return framed(
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1, output_tokens: 1 } } },
    {
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
    },
    {
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json: args },
    },
    { type: 'content_block_stop', index },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  );
}

function unescaped(body: string): string {
  return body.replaceAll('\\"', '"');
}
