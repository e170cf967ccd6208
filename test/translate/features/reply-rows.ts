/** Rows of reply features, and what is checked of each, whole and streamed. */
import { expect, it } from 'vitest';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import type { ContentRequest } from '../../../src/canonical/request.ts';
import type { ReplyHead } from '../../../src/dialects/codec.ts';
import { type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import { parsed } from '../../support/codec.ts';
import { assembledStream, describedOutput, foldedEvents, inPieces, streamed } from './streams.ts';
import { exchangeWith, headOf, type To, type WireName, wireNames, wires } from './wires.ts';

/** One form of a reply on one wire. */
export interface ReplyForm {
  readonly way: 'both' | 'read' | 'write';
  /** The essential members: a choice of chat, a candidate of Gemini, a message of Anthropic. */
  readonly reply: JsonObject;
  /** What the writer lists as dropped. */
  readonly lost?: readonly string[];
  /** Members of the caller's request that the reply depends on. */
  readonly asks?: JsonObject;
  readonly head?: Partial<ReplyHead>;
  /** What is read where it differs from the row. */
  readonly events?: readonly ContentEvent[];
  /** The request that the reply answers, where it matters to the reader. */
  readonly request?: Partial<ContentRequest>;
  readonly to?: To;
  /** Members of the whole reply that name the upstream's id or model. */
  readonly top?: JsonObject;
  /** A stream has it in another form, or not at all. */
  readonly isWhole?: boolean;
}

type Cell = ReplyForm | readonly ReplyForm[];

/** A feature: its events, and its form on each wire that has it. */
export interface ReplyRow extends Partial<Readonly<Record<WireName, Cell>>> {
  readonly is: string;
  readonly events: readonly ContentEvent[];
}

type More = Omit<ReplyForm, 'way' | 'reply'>;

/** Upstreams send it so, and callers get it so. */
export const both = (reply: JsonObject, more: More = {}): ReplyForm => ({
  way: 'both',
  reply,
  ...more,
});
/** Upstreams send it so. */
export const sent = (reply: JsonObject, more: More = {}): ReplyForm => ({
  way: 'read',
  reply,
  ...more,
});
/** Callers get it so. */
export const got = (reply: JsonObject, more: More = {}): ReplyForm => ({
  way: 'write',
  reply,
  ...more,
});

const formsOf = (cell: Cell | undefined): readonly ReplyForm[] =>
  cell === undefined ? [] : 'way' in cell ? [cell] : cell;

/** Checks every form of every row. */
export function checkReplies(rows: readonly ReplyRow[]): void {
  for (const row of rows) {
    for (const wire of wireNames) {
      formsOf(row[wire]).forEach((form, index) => {
        const name = `${row.is}: ${wire}${index === 0 ? '' : ` ${index + 1}`}`;
        if (form.way !== 'write' && wire !== 'responses') {
          it(`${name}, read`, () => checkRead(wire, row, form));
        }
        if (form.way !== 'read') it(`${name}, written`, () => checkWritten(wire, row, form));
      });
    }
  }
}

/** The whole reply of an upstream. */
function wholeOf(wire: WireName, reply: JsonObject): JsonValue {
  const { usage, usageMetadata, ...rest } = reply;
  if (wire === 'messages') return reply;
  if (wire === 'gemini') {
    const { candidates, promptFeedback, parts, ...more } = rest;
    return {
      ...(promptFeedback === undefined ? {} : { promptFeedback }),
      ...(promptFeedback === undefined || candidates !== undefined
        ? {
            candidates: candidates ?? [{ content: { role: 'model', parts: parts ?? [] }, ...more }],
          }
        : {}),
      ...(usageMetadata === undefined ? {} : { usageMetadata }),
    };
  }
  const { choices = [{ index: 0, ...rest }] } = rest;
  return { choices, ...(usage === undefined ? {} : { usage }) };
}

function checkRead(wire: Exclude<WireName, 'responses'>, row: ReplyRow, form: ReplyForm): void {
  const whole = wholeOf(wire, form.reply);
  const exchange = () => exchangeWith(wire, form.request, form.to);
  const expected = form.events ?? row.events;
  const events = exchange().readReply(whole);
  expect(inOrder(events)).toEqual(inOrder(expected));
  if (form.isWhole) return;
  for (const size of [1, 3, 100]) {
    const reader = exchange().readStream();
    const read = streamed(wire, whole, size).flatMap((document) => reader.read(document));
    const ended = [...read, ...reader.end()];
    expect(foldedEvents(ended)).toEqual(foldedEvents(expected));
    expect(reader.complete() || !form.reply.finish_reason).toBe(true);
  }
}

/** Without the start, and with the usage last, which some upstreams send before the finish. */
function inOrder(events: readonly ContentEvent[]): readonly ContentEvent[] {
  const content = events.filter(({ type }) => type !== 'start' && type !== 'usage');
  return [...content, ...events.filter(({ type }) => type === 'usage')].map((event) =>
    event.type === 'tool_begin' && event.id.startsWith('call_')
      ? { ...event, id: expect.stringMatching(/^call_[A-Za-z0-9]{24}$/) }
      : event,
  );
}

function checkWritten(wire: WireName, row: ReplyRow, form: ReplyForm): void {
  const { server, sent: body } = wires[wire];
  const begun = server.begin({ ...body, ...form.asks }, { streamed: false });
  const { text, dropped } = begun.writeReply(row.events, headOf(form.head));
  for (const digits of JSON.stringify(row.events).match(/\d{17,}/g) ?? []) {
    expect(text).toContain(digits);
  }
  const reply = parsed(text);
  expect(essentials(wire, reply, form)).toEqual(
    JSON.parse(JSON.stringify(expectedOf(wire, form)), revived),
  );
  expect(dropped).toEqual(form.lost ?? []);
  if (form.isWhole) return;
  for (const events of [row.events.map((event) => [event]), inPieces(row.events)]) {
    const writer = server
      .begin({ ...body, ...form.asks }, { streamed: true })
      .writeStream(headOf(form.head));
    const stream = `${events.map((one) => writer.write(one)).join('')}${writer.end()}`;
    expect(assembledStream(wire, stream)).toEqual(reply);
  }
}

/** The members that the row states; the rest is the same in every reply. */
function essentials(wire: WireName, reply: JsonValue, { reply: stated }: ReplyForm): unknown {
  if (wire === 'responses') {
    const reason = member(member(reply, 'incomplete_details'), 'reason');
    return {
      output: describedOutput(reply),
      status: member(reply, 'status'),
      ...('why' in stated || reason !== undefined ? { why: reason } : {}),
      ...('usage' in stated ? { usage: member(reply, 'usage') } : {}),
    };
  }
  // The usage of Messages is estimated where the upstream states none.
  const { usage, ...rest } = Object(reply);
  return wire === 'messages' && !('usage' in stated) ? rest : reply;
}

function expectedOf(wire: WireName, { reply, top }: ReplyForm): unknown {
  const { usage, usageMetadata, ...rest } = reply;
  const counts = { ...(usage && { usage }), ...(usageMetadata && { usageMetadata }) };
  switch (wire) {
    case 'responses':
      return { status: 'completed', ...reply };
    case 'messages':
      return {
        ...{ id: '~^msg_[0-9a-f]{24}$', type: 'message', role: 'assistant' },
        ...{ model: 'some/model:1', stop_reason: 'end_turn', stop_sequence: null },
        ...rest,
        ...counts,
      };
    case 'gemini': {
      const { candidates, promptFeedback, parts, ...more } = rest;
      const content = parts === undefined ? {} : { content: { role: 'model', parts } };
      const all = candidates ?? [{ ...content, index: 0, finishReason: 'STOP', ...more }];
      return {
        ...(promptFeedback === undefined ? { candidates: all } : { promptFeedback }),
        ...{ modelVersion: 'some/model:1', responseId: 'fallback', ...counts, ...top },
      };
    }
    default: {
      const { message = {}, choices, ...more } = rest;
      const whole = { role: 'assistant', content: null, refusal: null, ...Object(message) };
      const one = { index: 0, logprobs: null, finish_reason: 'stop', ...more, message: whole };
      return {
        ...{ id: 'chatcmpl-fallback', object: 'chat.completion', created: 1_795_177_645 },
        ...{ model: 'some/model:1', choices: choices ?? [one], ...counts, ...top },
      };
    }
  }
}

/** A text that begins with `~` stands for any that matches the rest. */
function revived(_: string, value: unknown): unknown {
  return typeof value === 'string' && value.startsWith('~')
    ? expect.stringMatching(new RegExp(value.slice(1)))
    : value;
}
