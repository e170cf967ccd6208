/**
 * Checks the order of a Responses stream's events. OpenAI's streams keep these laws, and each of
 * its clients fails, or silently loses output, where a stream breaks one of them.
 */
import { isDeepStrictEqual } from 'node:util';
import { items, type JsonValue, member, parseJson } from '../../../src/json.ts';

/** One event of a stream. */
export interface ResponsesEvent {
  /** The `event:` line; undefined if there is none. */
  readonly name: string | undefined;
  readonly data: JsonValue;
}

/** Parses a stream as OpenAI writes it, without the gateway's code. */
export function responsesEvents(stream: string | Uint8Array): readonly ResponsesEvent[] {
  return Buffer.from(stream)
    .toString()
    .split(/\r?\n\r?\n/)
    .map((event) => event.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith(':')))
    .filter((lines) => lines.some((line) => /^data: ?\{/.test(line)))
    .map((lines) => ({
      name: lines.find((line) => line.startsWith('event: '))?.slice('event: '.length),
      data: parsed(lines.find((line) => line.startsWith('data:'))?.slice('data:'.length) ?? ''),
    }));
}

function parsed(json: string): JsonValue {
  const value = parseJson(json);
  if (value === undefined) throw new Error('An event is not JSON on one line.');
  return value;
}

/** Returns the laws that the stream breaks, each as a sentence that begins with its name. */
export function brokenLaws(events: readonly ResponsesEvent[]): readonly string[] {
  const broken: string[] = [];
  const state: LawState = {
    added: [],
    byIndex: new Map(),
    unless: (isKept, law) => {
      if (!isKept) broken.push(law);
    },
  };
  checkNumbers(events, state);
  checkBeginning(events, state);
  for (const { data } of events) checkEvent(state, data);
  checkEnd(events, state);
  return broken;
}

/** One part of an item, or the only text of a call. */
interface SeenPart {
  text: string;
  /** What has come of its end: nothing, its whole text, or the part as well. */
  ended: 'not' | 'text' | 'part';
}

/** One item as the events so far have built it. */
interface SeenItem {
  readonly index: number;
  readonly id: string;
  readonly kind: string;
  readonly parts: Map<string, SeenPart>;
  done: JsonValue | undefined;
}

interface LawState {
  readonly added: SeenItem[];
  readonly byIndex: Map<number, SeenItem>;
  unless(isKept: boolean, law: string): void;
}

const typeOf = (data: JsonValue | undefined): string => String(member(data, 'type'));
const terminal = /^response\.(?:completed|incomplete|failed)$/;

function checkNumbers(events: readonly ResponsesEvent[], { unless }: LawState): void {
  events.forEach(({ name, data }, position) => {
    const number = member(data, 'sequence_number');
    unless(number === position, `numbers: event ${position} has the number ${String(number)}`);
    const type = typeOf(data);
    unless(name === undefined || name === type, `names: ${type} is sent as ${String(name)}`);
  });
}

function checkBeginning(events: readonly ResponsesEvent[], { unless }: LawState): void {
  const types = events.map(({ data }) => typeOf(data)).filter((type) => type !== 'response.queued');
  unless(types[0] === 'response.created', `L1: the first event is ${String(types[0])}`);
  unless(types[1] === 'response.in_progress', `L1: the second event is ${String(types[1])}`);
  unless(new Set(types.slice(0, 3)).size > 2, 'L1: the beginning is repeated');
  const running = events.filter(({ data }) =>
    ['response.created', 'response.in_progress'].includes(typeOf(data)),
  );
  for (const { data } of running) {
    const response = member(data, 'response');
    unless(items(member(response, 'output')).length === 0, 'L8: there is output at the beginning');
    unless((member(response, 'usage') ?? null) === null, 'usage: it is stated at the beginning');
  }
}

function checkEvent(state: LawState, data: JsonValue): void {
  const type = typeOf(data);
  if (type === 'response.output_item.added') return addItem(state, data);
  const index = member(data, 'output_index');
  if (typeof index !== 'number') return;
  const item = state.byIndex.get(index);
  if (item === undefined) return state.unless(false, `L2: ${type} comes before its item`);
  state.unless(item.done === undefined, `L2: ${type} comes after the end of its item`);
  if (type === 'response.output_item.done') return endItem(state, item, data);
  state.unless(member(data, 'item_id') === item.id, `L5: ${type} has another id than its item`);
  checkPart(state, item, data);
}

function addItem(state: LawState, data: JsonValue): void {
  const { added, byIndex, unless } = state;
  const node = member(data, 'item');
  const index = Number(member(data, 'output_index'));
  const id = String(member(node, 'id'));
  unless(index === added.length, `L4: item ${added.length} has the index ${index}`);
  unless(!added.some((one) => one.id === id), `L10: the id of item ${index} was used before`);
  unless(/^[A-Za-z0-9_-]{1,64}$/.test(id), `L10: the id of item ${index} has a wrong form`);
  unless(member(node, 'status') !== 'completed', `L2: item ${index} is complete when it is added`);
  const kind = typeOf(node);
  const item: SeenItem = { index, id, kind, parts: new Map(), done: undefined };
  // A call has no parts: its text begins with the item.
  if (callKinds.has(kind)) item.parts.set('text', { text: '', ended: 'not' });
  added.push(item);
  byIndex.set(index, item);
}

const callKinds: ReadonlySet<string> = new Set(['function_call', 'custom_tool_call']);

/** The member of a `done` event, and of a part, that has the text of its deltas. */
const textMembers = ['text', 'refusal', 'arguments', 'input', 'code', 'diff'] as const;

function textIn(node: JsonValue | undefined): string | undefined {
  for (const name of textMembers) {
    const text = member(node, name);
    if (typeof text === 'string') return text;
  }
  return undefined;
}

/** Parts are numbered by `content_index` or `summary_index`; a call has only one text. */
function partKey(data: JsonValue): string {
  const summary = member(data, 'summary_index');
  const content = member(data, 'content_index');
  if (typeof summary === 'number') return `summary ${summary}`;
  return typeof content === 'number' ? `content ${content}` : 'text';
}

function checkPart(state: LawState, item: SeenItem, data: JsonValue): void {
  const { unless } = state;
  const type = typeOf(data);
  const key = partKey(data);
  if (type.endsWith('_part.added')) return addPart(state, item, data);
  // The events of OpenAI's own tools that tell their progress.
  if (key === 'text' && !type.endsWith('.delta') && textIn(data) === undefined) return;
  const part = item.parts.get(key) ?? { text: '', ended: 'not' };
  const at = `${key} of ${item.kind} ${item.index}`;
  // OpenAI announces no text of its own tools, such as code that it runs.
  if (key === 'text') item.parts.set(key, part);
  else unless(item.parts.has(key), `L3: ${type} comes before ${at}`);
  if (type.endsWith('_part.done')) {
    const whole = textIn(member(data, 'part'));
    unless(part.ended === 'text', `L3: ${type} of ${at} comes out of order`);
    unless(whole === part.text, `L3: ${type} of ${at} differs from its deltas`);
    part.ended = 'part';
    return;
  }
  unless(part.ended === 'not', `L3: ${type} comes after the end of ${at}`);
  if (type.endsWith('.delta')) part.text += String(member(data, 'delta'));
  const whole = type.endsWith('.done') ? textIn(data) : undefined;
  if (whole === undefined) return;
  unless(whole === part.text, `L3: ${type} of ${at} differs from its deltas`);
  part.ended = 'text';
}

function addPart({ unless }: LawState, { parts, kind, index }: SeenItem, data: JsonValue): void {
  const key = partKey(data);
  const [list = '', number] = key.split(' ');
  const before = [...parts.keys()].filter((one) => one.startsWith(list)).length;
  unless(Number(number) === before, `L6: part ${before} of ${kind} ${index} is ${key}`);
  unless(!textIn(member(data, 'part')), `L3: ${key} of ${kind} ${index} begins with text`);
  if (!parts.has(key)) parts.set(key, { text: '', ended: 'not' });
}

function endItem(state: LawState, item: SeenItem, data: JsonValue): void {
  const { unless } = state;
  const node = member(data, 'item');
  const at = `${item.kind} ${item.index}`;
  unless(member(node, 'id') === item.id, `L5: the end of ${at} has another id`);
  unless(typeOf(node) === item.kind, `L5: the end of ${at} is of another kind`);
  item.done = node ?? null;
  const parts = [...item.parts];
  for (const [key, { ended }] of parts) {
    unless(ended === (key === 'text' ? 'text' : 'part'), `L3: ${key} of ${at} has not ended`);
  }
  for (const list of ['content', 'summary'] as const) {
    const whole = items(member(node, list)).map((part) => textIn(part) ?? '');
    const built = parts.filter(([key]) => key.startsWith(list)).map(([, { text }]) => text);
    unless(isDeepStrictEqual(whole, built), `L7: ${list} of ${at} differs from its deltas`);
  }
  const only = item.parts.get('text');
  const whole = textIn(node);
  const isSame = only === undefined || whole === undefined || whole === only.text;
  unless(isSame, `L7: the text of ${at} differs from its deltas`);
}

function checkEnd(events: readonly ResponsesEvent[], { added, unless }: LawState): void {
  const last = events.at(-1)?.data;
  const ends = events.filter(({ data }) => terminal.test(typeOf(data)));
  unless(ends.length === 1 && terminal.test(typeOf(last)), `L9: ${ends.length} terminal events`);
  const response = member(last, 'response');
  const output = items(member(response, 'output'));
  const whole = added.flatMap(({ done }) => (done === undefined ? [] : [done]));
  if (typeOf(last) === 'response.failed') {
    const isError = typeOf(events.at(-2)?.data) === 'error';
    unless(isError, 'failure: there is no error event before the last one');
    unless(isDeepStrictEqual(output.slice(0, whole.length), whole), 'L8: an item is missing');
    const open = added.filter(({ done }) => done === undefined).map(({ id }) => id);
    const rest = output.slice(whole.length);
    const isOpen = rest.every((one) => open.includes(String(member(one, 'id'))));
    unless(isOpen && rest.length <= 1, 'L8: there is output that no event announced');
    return;
  }
  unless(isDeepStrictEqual(output, whole), 'L8: the output differs from the items of the events');
  unless(output.length > 0, 'L11: there is no output');
  // The `stream()` of OpenAI's SDK throws otherwise.
  const isComplete = typeOf(last) === 'response.completed';
  unless(!isComplete || whole.length === added.length, 'L12: an item of a complete reply is open');
  unless(member(response, 'status') === typeOf(last).slice('response.'.length), 'L9: wrong status');
}
