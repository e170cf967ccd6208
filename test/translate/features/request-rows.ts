/** Rows of request features, and what is checked of each. */
import { expect, it } from 'vitest';
import {
  type ContentRequest,
  everyPart,
  type RequestField,
} from '../../../src/canonical/request.ts';
import {
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
  parseJson,
} from '../../../src/json.ts';
import { placeholder } from './seals.ts';
import { exchangeWith, type To, upstreams, type WireName, wireNames, wires } from './wires.ts';

/** One form of a feature on one wire. */
export interface Form {
  readonly way: 'both' | 'read' | 'write';
  /** The members of the body that differ from the plain request. */
  readonly members: JsonObject;
  /** The members that are listed as dropped. */
  readonly lost?: readonly string[];
  readonly to?: To;
  /** What is read where it is not the form of the row. */
  readonly read?: Partial<ContentRequest>;
  /** The caller's names of fields in this form. */
  readonly names?: Partial<Record<RequestField, string>>;
  /** The member that is named where the request is refused, with its code. */
  readonly refused?: { readonly param: string; readonly code: string };
}

type Cell = Form | readonly Form[];

/** A feature: its common form, and its form on each wire that has it. */
export interface RequestRow extends Partial<Readonly<Record<WireName, Cell>>> {
  readonly is: string;
  readonly request: Partial<ContentRequest>;
}

type More = Omit<Form, 'way' | 'members'>;

/** Callers send it so, and upstreams get it so. */
export const both = (members: JsonObject, more: More = {}): Form => ({
  way: 'both',
  members,
  ...more,
});
/** Callers send it so. */
export const reads = (members: JsonObject, more: More = {}): Form => ({
  way: 'read',
  members,
  ...more,
});
/** Upstreams get it so. */
export const writes = (members: JsonObject, to?: To, ...lost: readonly string[]): Form => ({
  way: 'write',
  members,
  lost,
  ...(to === undefined ? {} : { to }),
});
/** It is refused for these upstreams, because it can't be left out. */
export const refusesIt = (param: string, to?: To, code = 'not_portable'): Form => ({
  way: 'write',
  members: {},
  refused: { param, code },
  ...(to === undefined ? {} : { to }),
});

const formsOf = (cell: Cell | undefined): readonly Form[] =>
  cell === undefined ? [] : 'way' in cell ? [cell] : cell;

/** Checks every form of every row. */
export function checkRequests(rows: readonly RequestRow[]): void {
  for (const row of rows) {
    for (const wire of wireNames) {
      formsOf(row[wire]).forEach((form, index) => {
        const name = `${row.is}: ${wire}${index === 0 ? '' : ` ${index + 1}`}`;
        if (form.way !== 'write') it(`${name}, read`, () => checkRead(wire, row, form));
        if (form.way !== 'read' && wire !== 'responses') {
          it(`${name}, written`, () => checkWritten(wire, row, form));
        }
      });
    }
  }
}

function checkRead(wire: WireName, row: RequestRow, form: Form): void {
  const { server, sent, read } = wires[wire];
  const body = { ...sent, ...form.members };
  const begin = (one: JsonObject) => server.begin(one, { streamed: row.request.streamed ?? false });
  const { refused } = form;
  if (refused !== undefined) {
    expect(() => begin(body)).toThrow(
      expect.objectContaining({ name: 'GatewayError', ...refused }),
    );
    return;
  }
  const { request } = begin(body);
  const plain = begin(sent).request;
  expect(bare(request)).toEqual(
    bare({
      ...plain,
      ...read,
      ...row.request,
      ...form.read,
      names: { ...plain.names, ...form.names },
      dropped: [...(form.lost ?? [])],
    }),
  );
  checkPlaces(wire, body, request);
  if (wire === 'gemini') {
    expect(bare(begin(snakeCased(body)).request)).toEqual(bare(request));
  }
}

/** The request without the caller's names, whose order of dropped members says nothing. */
function bare({ dropped, ...request }: ContentRequest): unknown {
  const value: unknown = JSON.parse(
    JSON.stringify(request, (name, one) => (/^at$|At$/.test(name) ? undefined : one)),
  );
  return [value, dropped.map((name) => name.replaceAll('_', '').toLowerCase()).sort()];
}

/** The place of each part is that of its value in the body. */
function checkPlaces(wire: WireName, body: JsonObject, request: ContentRequest): void {
  for (const one of request.providerMembers) expect(at(body, one.at)).toBeDefined();
  for (const part of [...everyPart(request), ...request.tools]) {
    const node = at(body, part.at);
    const found = JSON.stringify(node ?? null);
    if ('providerData' in part && part.providerData !== undefined) {
      const place = String(part.providerDataAt);
      if (wire === 'messages') expect(place).toBe('messages.thinking');
      if (wire === 'responses') expect(at(body, place)).toBeTypeOf('string');
    }
    const words = part.kind === 'text' ? part.text : 'arguments' in part ? part.name : '';
    const [word = ''] = /^[^[]*?([a-z]+)/i.exec(words)?.slice(1) ?? [];
    if (node === undefined) expect(part.at).toMatch(/^messages\.thinking$/);
    else expect(found.toLowerCase()).toContain(word.toLowerCase());
  }
}

/** The value at a path such as `messages[0].content`. */
function at(body: JsonValue, path: string): JsonValue | undefined {
  return path.split(/[.[]/).reduce<JsonValue | undefined>((node, step) => {
    if (!step.endsWith(']')) return member(node, step);
    // Google takes one value in place of a list of one.
    return Array.isArray(node) ? items(node)[Number(step.slice(0, -1))] : node;
  }, body);
}

function checkWritten(wire: keyof typeof upstreams, row: RequestRow, form: Form): void {
  const { refused } = form;
  const written = () => exchangeWith(wire, row.request, form.to);
  if (refused !== undefined) {
    expect(written).toThrow(expect.objectContaining({ name: 'GatewayError', ...refused }));
    return;
  }
  const { body, dropped } = written();
  const { model, ...members } = objectOf(parseJson(body));
  const expected = {
    ...upstreams[wire].written,
    ...(form.to === undefined ? withAdditions(wire, form.members) : form.members),
    ...(wire === 'messages' ? declarations(form.members) : {}),
  };
  expect(members).toEqual(JSON.parse(JSON.stringify(expected), revived));
  expect(dropped).toEqual(form.way === 'both' ? [] : (form.lost ?? []));
  checkNames(body, row.request);
  if (wire === 'gemini') expect(model).toBeUndefined();
  else expect(model).toBe(modelOf(form.to) ?? upstreams[wire].model);
}

/** Anthropic needs declarations for the calls of the history. */
function declarations({ messages, tools }: JsonObject): JsonObject {
  const blocks = items(messages).flatMap((one) => items(member(one, 'content')));
  const calls = blocks.filter((block) => member(block, 'type') === 'tool_use');
  const names = new Set(calls.map((block) => member(block, 'name') ?? null));
  if (tools !== undefined || names.size === 0) return {};
  const input_schema = { type: 'object', properties: {} };
  return {
    tools: [...names].map((name) => ({ name, input_schema })),
    tool_choice: { type: 'none' },
  };
}

/** Gemini needs a signature on the first call of each step. */
function withAdditions(wire: WireName, members: JsonObject): JsonObject {
  if (wire !== 'gemini' || members.contents === undefined) return members;
  return {
    ...members,
    contents: items(members.contents).map((content) => {
      const parts = items(member(content, 'parts'));
      const first = parts.findIndex((part) => member(part, 'functionCall') !== undefined);
      const signed = parts.map((part, at) =>
        at === first ? { thoughtSignature: placeholder, ...objectOf(part) } : part,
      );
      return { ...objectOf(content), parts: signed };
    }),
  };
}

/** Every digit stays, one function has one name, and a result has the id of its call. */
function checkNames(body: string, request: Partial<ContentRequest>): void {
  for (const digits of JSON.stringify(request).match(/\d{17,}/g) ?? []) {
    expect(body).toContain(digits);
  }
  expect(new Set(body.match(/"[^"]*_[0-9a-f]{6}"/g)).size).toBeLessThanOrEqual(1);
  const ids = (path: RegExp) => [...body.matchAll(path)].map(([, id, other]) => id ?? other);
  const called = ids(/"(?:id":"([^"]*)","type":"function|tool_use","id":"([^"]*))"/g);
  const answered = ids(/"(?:tool_call_id|tool_use_id)":"([^"]*)"/g);
  expect(new Set(called).size).toBe(called.length);
  for (const id of answered) expect(called).toContain(id);
}

function modelOf(to: To | undefined): string | undefined {
  return typeof to === 'string' ? to : to?.model;
}

/** A text that begins with `~` stands for any that matches the rest. */
function revived(_: string, value: unknown): unknown {
  return typeof value === 'string' && value.startsWith('~')
    ? expect.stringMatching(new RegExp(value.slice(1)))
    : value;
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The body as Google's older clients write it. Names inside of schemas and arguments stay. */
function snakeCased(body: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [snake(name), snakeCasedValue(name, value)]),
  );
}

const opaque = /^(?:args|response|speechConfig|image|parameters|\w*[sS]chema|labels|value)$/;

function snakeCasedValue(name: string, value: JsonValue): JsonValue {
  if (opaque.test(name)) return value;
  if (Array.isArray(value)) return items(value).map((one) => snakeCasedValue('', one));
  return isJsonObject(value) ? snakeCased(value) : value;
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
