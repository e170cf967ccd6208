// suite: search
/** For any upstream reply, a caller gets a reply or a well-formed error. */
import { describe, expect, it } from 'vitest';
import { chat } from '../../support/any-model-gateway.ts';
import {
  brokenLaws as brokenMessagesLaws,
  messagesEvents,
} from '../../support/laws/messages-laws.ts';
import { brokenLaws, responsesEvents } from '../../support/laws/responses-laws.ts';
import { shapeFaults } from '../../support/laws/responses-shape.ts';
import { drawn } from '../../support/seeds.ts';
import { answered, type Protocol } from './caller-side.ts';
import {
  asking,
  document,
  eventStream,
  exchanged,
  type Layout,
  type Outcome,
  type Recorded,
  recordings,
  rows,
  streamLayouts,
  streams,
  wholes,
} from './exchange.ts';
import { documentsOf, framed } from './oracle.ts';
import { isRecord, type Json, list, record } from './tree.ts';

type Draw = (below: number) => number;

/** The number of mutations per recording; the random choices are the same in every run. */
const runs = process.env.TEST_FORM === 'full' ? 4 : 2;

const refused = recordings.filter(({ status }) => status !== 200);

describe('a mutated whole reply', () => {
  it.each(rows(wholes))('to %s: %s', async (protocol, _name, { dialect, text }) => {
    for (let seed = 1; seed <= runs; seed += 1) {
      const reply = JSON.stringify(mangled(JSON.parse(text), drawn(seed * text.length)));

      const whole = await exchanged(dialect, asking(protocol, 'json'), document(reply));
      expectSane(protocol, 'json', whole, reply);

      if (seed > 1) continue;
      const inPlace = await exchanged(dialect, asking(protocol, 'sse'), document(reply));
      expectSane(protocol, 'sse', inPlace, reply);
    }
  });
});

describe('a mutated stream', () => {
  it.each(rows(streams))('to %s: %s', async (protocol, _name, recorded) => {
    for (let seed = 1; seed <= runs * 3; seed += 1) {
      const layouts = streamLayouts[protocol];
      const layout = layouts[seed % layouts.length] ?? 'sse';
      const events = mangledStream(recorded, drawn(seed * recorded.bytes.length));

      const scripted = eventStream(...events.slice(0, 1), events.slice(1).join(''));
      const outcome = await exchanged(recorded.dialect, asking(protocol, layout), scripted);

      expectSane(protocol, layout, outcome, events.join(''));
    }
  });
});

describe('a mutated error response', () => {
  it.each(rows(refused))('to %s: %s', async (protocol, _name, { dialect, text, status }) => {
    for (let seed = 1; seed <= runs * 4; seed += 1) {
      const reply = JSON.stringify(mangled(JSON.parse(text), drawn(seed)));
      const scripted = { ...document(reply), status };

      const outcome = await exchanged(dialect, asking(protocol, 'json'), scripted);

      expect(outcome.answer.status).toBeGreaterThanOrEqual(400);
      expectSane(protocol, 'json', outcome, reply);
    }
  });
});

describe('a member that no conversion reads', () => {
  it('does not cause a failure, in a reply and in the history of a chat', async () => {
    const odd = { toString: 1, valueOf: null };
    const detail = { type: 'reasoning.text', text: 'a', signature: 'b', format: odd };
    const messages = [
      { role: 'assistant', content: 'x', reasoning_details: [detail] },
      { role: 'user', content: 'hi' },
    ];
    const block = { type: 'text', text: odd, citations: [{ url: odd }] };
    const usage = { input_tokens: odd, output_tokens: 1 };
    const reply = { id: odd, content: [block, odd], stop_reason: odd, usage };

    const request = chat(JSON.stringify({ model: 'm', messages }));
    const { answer } = await exchanged('anthropic', request, document(JSON.stringify(reply)));

    expect(answer.status).toBe(200);
  });
});

/** A reply, an error response of the gateway, or a stream that ends with an error. */
function expectSane(protocol: Protocol, layout: Layout, outcome: Outcome, input: string): void {
  const { answer: reply, gateway } = outcome;
  const about = `${input.slice(0, 3_000)}\n→ ${reply.text.slice(0, 300)}`;
  expect(reply.isCut, about).toBe(false);
  expect(gateway.records, about).toHaveLength(1);
  if (reply.status !== 200) {
    expect([400, 403, 404, 413, 429, 499, 502, 503, 504], about).toContain(reply.status);
    expectError(protocol, record(JSON.parse(reply.text)), about);
    return;
  }
  const isStream = layout !== 'json';
  if (protocol === 'responses' && isStream) {
    expect(brokenLaws(responsesEvents(reply.text)), about).toEqual([]);
  }
  if (protocol === 'messages' && isStream) {
    const events = messagesEvents(reply.text);
    expect(brokenMessagesLaws(events, { isOwn: true }), about).toEqual([]);
  }
  const body = layout === 'sse' ? withoutBareError(protocol, reply.text) : reply.text;
  for (const one of answered(body, isStream)) {
    if (isRecord(one.error)) expectError(protocol, one, about);
    else expectReply(protocol, one, isStream, about);
  }
}

/** Native streams send their error twice: as an event, and bare after it. */
function withoutBareError(protocol: Protocol, body: string): string {
  return protocol === 'native' ? body.replace(/(?<=\r\n\r\n)\{"error":.*$/s, '') : body;
}

function expectError(protocol: Protocol, one: Json, about: string): void {
  const error = record(one.error);
  expect(typeof error.message, about).toBe('string');
  expect(error.code, about).not.toBe('internal_error');
  expect(error.code, about).not.toBe(500);
  // OpenAI's errors have no code if the type is specific enough.
  const codes = protocol === 'native' ? ['number'] : ['string', 'object'];
  if (protocol === 'messages') expect(one.request_id, about).toMatch(/^test-id-/);
  else expect(codes, about).toContain(typeof error.code);
  if (typeof error.code === 'object') expect(error.code, about).toBeNull();
  expect(typeof (protocol === 'native' ? error.status : error.type), about).toBe('string');
}

/** The properties on which every client relies. */
function expectReply(protocol: Protocol, one: Json, isStream: boolean, about: string): void {
  // The order of events is checked for the whole stream.
  if (protocol === 'responses') {
    if (!isStream) expect(shapeFaults(one), about).toEqual([]);
    return;
  }
  if (protocol === 'native') {
    expect(typeof one.responseId, about).toBe('string');
    expect(typeof one.modelVersion, about).toBe('string');
    const candidates = list(one.candidates).map(record);
    for (const { content } of candidates) {
      if (isRecord(content)) expect(Array.isArray(content.parts), about).toBe(true);
    }
    expect(isRecord(one.promptFeedback) || candidates.length > 0, about).toBe(true);
    return;
  }
  if (protocol === 'messages') {
    if (!isStream) expectMessage(one, about);
    return;
  }
  expect(typeof one.id, about).toBe('string');
  expect(one.model, about).toBe('m');
  for (const choice of list(one.choices).map(record)) {
    expect(isRecord(isStream ? choice.delta : choice.message), about).toBe(true);
    const finishes = [
      'stop',
      'length',
      'tool_calls',
      'content_filter',
      ...(isStream ? [null] : []),
    ];
    expect(finishes, about).toContain(choice.finish_reason);
  }
}

/** The AI SDK refuses any other message. */
function expectMessage(one: Json, about: string): void {
  expect(one, about).toMatchObject({ type: 'message', role: 'assistant', model: 'm' });
  expect(one.id, about).toMatch(/^msg_[0-9A-Za-z]{24}$/);
  const { input_tokens, output_tokens } = record(one.usage);
  expect([typeof input_tokens, typeof output_tokens], about).toEqual(['number', 'number']);
  const reasons = ['end_turn', 'max_tokens', 'tool_use', 'refusal'];
  expect(reasons, about).toContain(one.stop_reason);
  for (const block of list(one.content).map(record)) {
    const names = blockMembers.get(String(block.type)) ?? [];
    expect(names, about).not.toEqual([]);
    for (const name of names) expect(typeof block[name], about).toBe('string');
    if (block.type === 'tool_use') expect(isRecord(block.input), about).toBe(true);
  }
}

/** The texts of each kind of block. */
const blockMembers: ReadonlyMap<string, readonly string[]> = new Map([
  ['text', ['text']],
  ['thinking', ['thinking', 'signature']],
  ['redacted_thinking', ['data']],
  ['tool_use', ['id', 'name']],
]);

/** A stream with documents changed, removed, repeated or moved. */
function mangledStream({ dialect, text }: Recorded, draw: Draw): readonly string[] {
  const documents = documentsOf(text).map(record);
  for (let edits = 1 + draw(3); edits > 0; edits -= 1) {
    const at = draw(documents.length);
    const one = documents[at] ?? {};
    switch (draw(5)) {
      case 0:
        documents.splice(at, 1);
        break;
      case 1:
        documents.splice(draw(documents.length + 1), 0, one);
        break;
      default:
        documents[at] = record(mangled(one, draw));
    }
  }
  const events = framed(dialect, documents).map((event) => event);
  if (draw(6) === 0) events.splice(draw(events.length + 1), 0, 'data: nonsense\n\n');
  return events;
}

const junk: readonly unknown[] = [
  null,
  true,
  -1,
  0.5,
  1e300,
  '',
  'UNHEARD_OF',
  '😀\ud83d',
  [],
  [null],
  [[]],
  {},
  { type: 'unheard_of', thoughtSignature: 7 },
  { toString: 1, constructor: null },
];

/** The value with one to three of its members or elements replaced, removed or added. */
function mangled(value: unknown, draw: Draw): unknown {
  let changed = value;
  for (let edits = 1 + draw(3); edits > 0; edits -= 1) {
    changed = editedAt(changed, { remaining: draw(sizeOf(changed)) }, draw);
  }
  return changed;
}

function sizeOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, one) => sum + sizeOf(one), 1);
}

function editedAt(value: unknown, place: { remaining: number }, draw: Draw): unknown {
  place.remaining -= 1;
  if (place.remaining === -1) return replaced(value, draw);
  if (place.remaining < 0) return value;
  if (Array.isArray(value)) return value.map((one) => editedAt(one, place, draw));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, editedAt(one, place, draw)]),
  );
}

function replaced(value: unknown, draw: Draw): unknown {
  const put = junk[draw(junk.length)];
  if (isRecord(value) && draw(2) === 0) return { ...value, unheard_of: put };
  if (Array.isArray(value) && draw(2) === 0) return [put, ...value, put];
  return put;
}
