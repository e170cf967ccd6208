/**
 * Rows in the text of the wires. A line has the wire, the direction, JSON, and what else matters:
 *
 *     chat <> {stop:["END"]} | to {stopLimit:1} | lost stop
 *
 * `>` goes from the gateway to an upstream or a caller, `<` comes from it, `<>` does both. Of a
 * request, `{…}` has the members in which it differs from the plain one, and `[…]` the messages
 * after its question; of a reply, the essential members. A text that begins with `~` is a pattern.
 * Names need no quotes.
 * A line that begins otherwise continues the one before it.
 */
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import type { ReplyForm, ReplyRow } from './reply-rows.ts';
import type { Form, RequestRow } from './request-rows.ts';
import { isWireName, type WireName } from './wires.ts';

type Value = string | object;
type Tag<Row> = (strings: TemplateStringsArray, ...values: readonly Value[]) => Row;

/** A row of a request: its title, its common form, and a line for each form on a wire. */
export const requestRow =
  (is: string, request: RequestRow['request']): Tag<RequestRow> =>
  ({ raw }, ...values) => {
    const row: { [Wire in WireName]?: Form[] } = {};
    for (const { wire, way, text, more } of lines(raw, values)) {
      const form = { way, members: membersOf(wire, text), ...more };
      row[wire] = [...(row[wire] ?? []), form];
    }
    return { is, request, ...row };
  };

/** A row of a reply: its title, its events, and a line for each form on a wire. */
export const replyRow =
  (is: string, events: ReplyRow['events']): Tag<ReplyRow> =>
  ({ raw }, ...values) => {
    const row: { [Wire in WireName]?: ReplyForm[] } = {};
    for (const { wire, way, text, more } of lines(raw, values)) {
      row[wire] = [...(row[wire] ?? []), { way, reply: parsedText(text), ...more }];
    }
    return { is, events, ...row };
  };

interface Line {
  readonly wire: WireName;
  readonly way: 'both' | 'read' | 'write';
  readonly text: string;
  readonly more: object;
}

const ways: Readonly<Record<string, Line['way']>> = { '<>': 'both', '<': 'read', '>': 'write' };

function lines(raw: readonly string[], values: readonly Value[]): readonly Line[] {
  const whole = raw.map((text, index) => text + placed(values[index], index)).join('');
  const joined = whole
    .replace(/\n\s*(?=\|)/g, ' ')
    .replace(/\n\s*(?!\s|(?:chat|responses|messages|gemini) [<>])/g, '');
  return joined.split('\n').flatMap((line): readonly Line[] => {
    const [first = '', ...others] = line.trim().split(' | ');
    const [, wire = '', sign = '', text = ''] = /^(\w+) ([<>]+) (.*)$/s.exec(first) ?? [];
    if (first === '') return [];
    const way = ways[sign];
    if (!isWireName(wire) || way === undefined) throw new Error(`This is no row: ${line}`);
    const more = Object.assign({}, ...others.map((one) => memberOf(one, values)));
    return [{ wire, way, text, more }];
  });
}

/** Texts stand where they are written, and objects are found again by their number. */
function placed(value: Value | undefined, index: number): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : `#${index}`;
}

function memberOf(text: string, values: readonly Value[]): object {
  const [name = '', ...rest] = text.split(' ');
  const value = rest.join(' ');
  switch (name) {
    case 'lost':
      return { lost: value.split(', ') };
    case 'refused':
      return { refused: { code: rest[0], param: rest[1] } };
    case 'whole':
      return { isWhole: true };
    case 'read':
    case 'events':
    case 'request':
      return { [name]: values[Number(value.slice(1))] };
    default:
      return { [name]: parsedText(value) };
  }
}

/** JSON whose names may stand without quotes. */
function parsedText(text: string) {
  return JSON.parse(
    text.replace(/"(?:[^"\\]|\\.)*"|(\w+)(?=:)/g, (all, name) => (name ? `"${all}"` : all)),
  );
}

const question = { role: 'user', content: 'Hi' };

/** The members of the body; a list is what follows the question. */
function membersOf(wire: WireName, text: string): JsonObject {
  if (!text.startsWith('[')) return parsedText(text);
  const [list = '', others = '{}'] = text.split(' & ');
  const after: readonly JsonValue[] = parsedText(list);
  const first = { ...question, content: [{ type: 'text', text: 'Hi' }] };
  const messages: Readonly<Record<WireName, JsonObject>> = {
    chat: { messages: [question, ...after] },
    responses: { input: [question, ...after] },
    messages: { messages: [first, ...after] },
    gemini: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }, ...after] },
  };
  return { ...messages[wire], ...parsedText(others) };
}
