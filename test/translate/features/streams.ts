/** Streams of upstreams made of whole replies, and streams of callers put together again. */
import { expect } from 'vitest';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import { documentsOf } from '../../support/codec.ts';
import {
  foldedMessage,
  brokenLaws as lawsOfMessages,
  messagesEvents,
} from '../../support/laws/messages-laws.ts';
import {
  brokenLaws as lawsOfResponses,
  responsesEvents,
} from '../../support/laws/responses-laws.ts';
import { assembled, chunksOf } from '../openai/server-assemble.ts';
import { described } from '../responses/brief.ts';
import type { WireName } from './wires.ts';

const cut = (text: string, size: number): readonly string[] =>
  text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'gu')) ?? [];
const textIn = (holder: JsonValue | undefined, name: string): string =>
  String(member(holder, name) ?? '');

/** The documents in which an upstream streams the reply, with its texts in pieces of this size. */
export function streamed(wire: WireName, reply: JsonValue, size: number): readonly JsonValue[] {
  if (wire === 'chat') return chatChunks(reply, size);
  return wire === 'messages' ? messageEvents(reply, size) : geminiDocuments(reply, size);
}

function chatChunks(reply: JsonValue, size: number): readonly JsonValue[] {
  const choices = items(member(reply, 'choices')).flatMap((choice, at) => {
    const index = member(choice, 'index') ?? at;
    const message = member(choice, 'message');
    const chunk = (delta: JsonValue, more: JsonObject = {}): JsonValue => ({
      choices: [{ index, delta, finish_reason: null, ...more }],
    });
    const pieces = (name: string): readonly JsonValue[] => {
      const value = member(message, name);
      if (typeof value !== 'string') return value ? [chunk({ [name]: value })] : [];
      return cut(value, size).map((piece) => chunk({ [name]: piece }));
    };
    const calls = items(member(message, 'tool_calls')).flatMap((call, number) => {
      const { function: called, ...rest } = objectOf(call);
      const whole = textIn(called, 'arguments');
      const args = (text: string) => ({ index: number, function: { arguments: text } });
      const opened = { ...rest, index: number, function: { ...objectOf(called), arguments: '' } };
      return [opened, ...cut(whole, size).map(args)].map((one) => chunk({ tool_calls: [one] }));
    });
    const known = ['reasoning_content', 'reasoning', 'content', 'refusal', 'tool_calls'];
    const others = Object.entries(objectOf(message)).filter(([name]) => !known.includes(name));
    const { message: _, index: __, finish_reason = null, ...more } = objectOf(choice);
    return [
      chunk({ role: 'assistant', content: '' }),
      ...known.slice(0, 4).flatMap(pieces),
      ...(others.length === 0 ? [] : [chunk(Object.fromEntries(others))]),
      ...calls,
      chunk({}, { ...more, finish_reason }),
    ];
  });
  const usage = member(reply, 'usage');
  return [...choices, ...(usage === undefined ? [] : [{ choices: [], usage }])];
}

/** The events in which Anthropic streams a message. */
function messageEvents(reply: JsonValue, size: number): readonly JsonValue[] {
  const blocks = items(member(reply, 'content')).flatMap((block, index): readonly JsonValue[] => {
    const whole = objectOf(block);
    const type = textIn(block, 'type');
    const deltas = (kind: string, name: string, text: string): readonly JsonValue[] =>
      cut(text, size).map((piece) => ({
        ...{ type: 'content_block_delta', index, delta: { type: kind, [name]: piece } },
      }));
    const [empty, ...pieces] = ((): readonly JsonValue[] => {
      if (type === 'text') {
        return [{ ...whole, text: '' }, ...deltas('text_delta', 'text', textIn(block, 'text'))];
      }
      if (type === 'thinking') {
        const signature = { type: 'signature_delta', signature: textIn(block, 'signature') };
        return [
          { type, thinking: '', signature: '' },
          ...deltas('thinking_delta', 'thinking', textIn(block, 'thinking')),
          { type: 'content_block_delta', index, delta: signature },
        ];
      }
      if (type !== 'tool_use') return [block];
      const input = JSON.stringify(member(block, 'input') ?? {});
      return [{ ...whole, input: {} }, ...deltas('input_json_delta', 'partial_json', input)];
    })();
    return [
      { type: 'content_block_start', index, content_block: empty ?? null },
      ...pieces,
      { type: 'content_block_stop', index },
    ];
  });
  const { content: _, usage = null, ...delta } = objectOf(reply);
  return [
    { type: 'message_start', message: { id: 'msg_1', usage } },
    { type: 'ping' },
    ...blocks,
    { type: 'message_delta', delta, usage },
    { type: 'message_stop' },
  ];
}

function geminiDocuments(reply: JsonValue, size: number): readonly JsonValue[] {
  const { candidates, ...rest } = objectOf(reply);
  const all = items(candidates);
  const pieces = all.flatMap((candidate, at) => {
    const index = member(candidate, 'index') ?? at;
    const parts = items(member(member(candidate, 'content'), 'parts')).flatMap(
      (part): readonly JsonValue[] => {
        const { text, thoughtSignature, ...more } = objectOf(part);
        if (typeof text !== 'string' || thoughtSignature !== undefined) return [part];
        return cut(text, size).map((piece) => ({ text: piece, ...more }));
      },
    );
    return parts.map((part) => ({ candidates: [{ index, content: { parts: [part] } }] }));
  });
  const ends = all.map((candidate, at) => {
    const { content: _, ...end } = objectOf(candidate);
    return { index: at, ...end };
  });
  return [...pieces, { ...rest, ...(all.length === 0 ? {} : { candidates: ends }) }];
}

function merged(all: readonly JsonValue[]): JsonObject {
  return Object.fromEntries(all.flatMap((one) => Object.entries(objectOf(one))));
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The events by kind, with consecutive pieces joined. */
export function foldedEvents(events: readonly ContentEvent[]): unknown {
  const joined: ContentEvent[] = [];
  const calls = new Map<string, { name: string; json: string; signed: unknown }>();
  for (const event of events) {
    if (event.type === 'start' || event.type === 'tool_end') continue;
    if (event.type === 'tool_begin') {
      const { name, arguments: json, providerData } = event;
      calls.set(`${event.choice} ${event.call}`, { name, json, signed: providerData?.data });
      continue;
    }
    if (event.type === 'tool_arguments') {
      const open = calls.get(`${event.choice} ${event.call}`);
      if (open !== undefined) open.json += event.text;
      continue;
    }
    const at = joined.findLastIndex(
      (one) => 'choice' in one && 'choice' in event && one.choice === event.choice,
    );
    const last = joined[at];
    const canJoin =
      last !== undefined && 'text' in last && 'text' in event && last.type === event.type;
    if (canJoin && !('providerData' in last && last.providerData)) {
      joined[at] = { ...last, ...event, text: last.text + event.text };
    } else joined.push(event);
  }
  const usage = joined.findLast(({ type }) => type === 'usage');
  const rest = joined.filter(({ type }) => type !== 'usage').map((one) => JSON.stringify(one));
  return { calls: [...calls.values()], usage, rest: rest.toSorted() };
}

/** The events with every text, and the arguments of every call, in pieces. */
export function inPieces(events: readonly ContentEvent[]): readonly (readonly ContentEvent[])[] {
  return events.flatMap((event): readonly (readonly ContentEvent[])[] => {
    if (event.type === 'tool_begin') {
      const { choice, call } = event;
      const pieces = cut(event.arguments, 1).map(
        (text) => ({ type: 'tool_arguments', choice, call, text }) as const,
      );
      return [[{ ...event, arguments: '' }], ...pieces.map((piece) => [piece])];
    }
    if (event.type !== 'text' && event.type !== 'reasoning' && event.type !== 'refusal') {
      return [[event]];
    }
    if (event.providerData !== undefined) return [[event]];
    return cut(event.text, 1).map((text) => [{ ...event, text }]);
  });
}

/** The whole reply that clients put together from a stream, which keeps all laws. */
export function assembledStream(wire: WireName, stream: string): unknown {
  switch (wire) {
    case 'chat':
      expect(stream).toMatch(/data: \[DONE\]\n\n$/);
      return assembled(chunksOf(stream));
    case 'messages':
      expect(lawsOfMessages(messagesEvents(stream), { isOwn: true })).toEqual([]);
      return foldedMessage(messagesEvents(stream));
    case 'responses':
      expect(lawsOfResponses(responsesEvents(stream))).toEqual([]);
      return member(responsesEvents(stream).at(-1)?.data, 'response');
    case 'gemini':
      return assembledGemini(documentsOf(stream));
  }
}

function assembledGemini(documents: readonly JsonValue[]): unknown {
  const pieces = documents.flatMap((document) => items(member(document, 'candidates')));
  const indexes = [...new Set(pieces.map((one) => Number(member(one, 'index'))))].sort();
  const candidates = indexes.map((index) => {
    const own = pieces.filter((one) => member(one, 'index') === index);
    const contents = own.filter((one) => member(one, 'content') !== undefined);
    const parts: JsonObject[] = [];
    for (const part of contents.flatMap((one) => items(member(member(one, 'content'), 'parts')))) {
      const last = parts.at(-1);
      const isText = (one: JsonValue | undefined) => typeof member(one, 'text') === 'string';
      const isSame = isText(last) && isText(part) && last?.thought === member(part, 'thought');
      const isEmpty = Object.keys(objectOf(part)).length === 1 && member(part, 'text') === '';
      if (last !== undefined && isEmpty) continue;
      if (isSame && last?.thoughtSignature === undefined) {
        const text = textIn(last, 'text') + textIn(part, 'text');
        parts.splice(-1, 1, { ...last, ...objectOf(part), text });
      } else parts.push(objectOf(part));
    }
    const whole = merged(own);
    return { ...whole, ...(contents.length === 0 ? {} : { content: { role: 'model', parts } }) };
  });
  const whole = merged(documents);
  return { ...whole, ...(candidates.length === 0 ? {} : { candidates }) };
}

/** The items as kind, name and content: `message: Hi`, `reasoning: Hm. +thinking:x`. */
export function describedOutput(response: JsonValue): readonly string[] {
  const output = items(member(response, 'output'));
  return described(response).map((text, at) => {
    const names = ['namespace', 'name'].flatMap((one) => member(output[at], one) ?? []);
    return names.length === 0 ? text : text.replace(':', ` ${names.join('.')}:`);
  });
}
