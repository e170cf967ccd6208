/**
 * Checks the order of a Messages stream's events. Anthropic's streams keep these laws, and each of
 * its clients fails, or silently loses output, where a stream breaks one of them.
 */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import { parsed } from '../codec.ts';

/** One event of a stream. */
export interface MessagesEvent {
  /** The `event:` line; undefined if there is none. */
  readonly name: string | undefined;
  readonly data: JsonValue;
}

/** Parses a stream as Anthropic writes it, without the gateway's code. */
export function messagesEvents(stream: string | Uint8Array): readonly MessagesEvent[] {
  return Buffer.from(stream)
    .toString()
    .split('\n\n')
    .filter((event) => event.trim() !== '')
    .map((event) => {
      const lines = event.split('\n').filter((line) => line !== '' && !line.startsWith(':'));
      const data = lines.filter((line) => line.startsWith('data:'));
      if (data.length !== 1) throw new Error('An event has no data on one line.');
      const name = lines.find((line) => line.startsWith('event: '));
      return messagesEvent(data.join('').slice('data:'.length), name?.slice('event: '.length));
    });
}

/** An event with this data. */
export function messagesEvent(json: string, name?: string | undefined): MessagesEvent {
  return { name, data: parsed(json) };
}

/** How far a stream has come. */
interface LawState {
  readonly broken: string[];
  readonly isOwn: boolean;
  hasStarted: boolean;
  blocks: number;
  open: OpenBlock | undefined;
  /** The number of `message_delta` events, and whether one said why the reply stopped. */
  deltas: number;
  hasReason: boolean;
  /** Nothing may follow. */
  ended: 'not' | 'message_stop' | 'error';
}

interface OpenBlock {
  readonly index: number;
  readonly type: string;
  hasSignature: boolean;
}

/**
 * Returns the laws that the stream breaks, each as a sentence that begins with its name.
 *
 * @param isOwn the gateway wrote it: it has only the blocks that all clients know, every thinking
 *   block is signed, and there is one `message_delta`
 */
export function brokenLaws(
  events: readonly MessagesEvent[],
  { isOwn }: { readonly isOwn: boolean },
): readonly string[] {
  const state: LawState = {
    broken: [],
    isOwn,
    hasStarted: false,
    blocks: 0,
    open: undefined,
    deltas: 0,
    hasReason: false,
    ended: 'not',
  };
  for (const { name, data } of events) {
    const type = String(member(data, 'type'));
    check(state, name === type, `names: ${type} is sent as ${String(name)}`);
    check(state, state.ended === 'not', `end: ${type} follows ${state.ended}`);
    if (type === 'ping') continue;
    checkEvent(state, type, data);
  }
  check(state, state.ended !== 'not', 'end: there is neither message_stop nor error');
  return state.broken;
}

function check({ broken }: LawState, isKept: boolean, law: string): void {
  if (!isKept) broken.push(law);
}

function checkEvent(state: LawState, type: string, data: JsonValue): void {
  if (type === 'error') return checkError(state, data);
  if (type === 'message_start') return checkStart(state, member(data, 'message'));
  check(state, state.hasStarted, `start: ${type} comes before message_start`);
  switch (type) {
    case 'content_block_start':
      return openBlock(state, data);
    case 'content_block_delta':
      return checkDelta(state, data);
    case 'content_block_stop':
      return closeBlock(state, data);
    case 'message_delta':
      return checkEnd(state, data);
    case 'message_stop':
      check(state, state.hasReason, 'end: message_stop comes without a stop_reason');
      state.ended = 'message_stop';
      return;
    default:
      check(state, false, `events: ${type} is unknown`);
  }
}

function checkStart(state: LawState, message: JsonValue | undefined): void {
  check(state, !state.hasStarted, 'start: message_start comes twice');
  state.hasStarted = true;
  const usage = member(message, 'usage');
  check(state, items(member(message, 'content')).length === 0, 'start: there is content');
  check(state, Array.isArray(member(message, 'content')), 'start: content is no list');
  check(state, member(message, 'stop_reason') === null, 'start: there is a stop_reason');
  check(state, isCount(member(usage, 'input_tokens')), 'usage: no input_tokens at the start');
  check(state, isCount(member(usage, 'output_tokens')), 'usage: no output_tokens at the start');
  // LangChain adds the start to the end.
  const isNothing = !state.isOwn || member(usage, 'output_tokens') === 0;
  check(state, isNothing, 'usage: output_tokens are not 0 at the start');
}

function isCount(value: JsonValue | undefined): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

/** The members with which a block begins, which its deltas then fill. */
const emptyMembers: Readonly<Record<string, JsonObject>> = {
  text: { text: '' },
  thinking: { thinking: '', signature: '' },
  tool_use: { input: {} },
  server_tool_use: { input: {} },
};

const ownTypes = ['text', 'thinking', 'redacted_thinking', 'tool_use'];

function openBlock(state: LawState, data: JsonValue): void {
  const block = member(data, 'content_block');
  const type = String(member(block, 'type'));
  const index = Number(member(data, 'index'));
  check(state, state.open === undefined, `blocks: block ${index} begins in another`);
  check(state, index === state.blocks, `blocks: block ${state.blocks} has the index ${index}`);
  check(state, state.deltas === 0, `blocks: block ${index} begins after message_delta`);
  for (const [name, empty] of Object.entries(emptyMembers[type] ?? {})) {
    const value = JSON.stringify(member(block, name));
    check(state, value === JSON.stringify(empty), `blocks: ${type} ${index} begins with ${name}`);
  }
  check(state, !state.isOwn || ownTypes.includes(type), `blocks: ${type} is not known to all`);
  if (type === 'tool_use') checkCall(state, block);
  if (type === 'redacted_thinking') {
    check(state, Boolean(member(block, 'data')), `blocks: redacted_thinking ${index} is empty`);
  }
  state.blocks += 1;
  state.open = { index, type, hasSignature: false };
}

function checkCall(state: LawState, block: JsonValue | undefined): void {
  const id = String(member(block, 'id'));
  check(state, /^[a-zA-Z0-9_-]+$/.test(id), 'calls: an id has a wrong form');
  check(state, Boolean(member(block, 'name')), `calls: ${id} has no name`);
}

/** The deltas of each kind of block; others may have any. */
const deltaTypes: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  redacted_thinking: [],
  tool_use: ['input_json_delta'],
  server_tool_use: ['input_json_delta'],
};

function checkDelta(state: LawState, data: JsonValue): void {
  const { open } = state;
  const type = String(member(member(data, 'delta'), 'type'));
  const index = Number(member(data, 'index'));
  if (open?.index !== index) return check(state, false, `deltas: block ${index} is not open`);
  const isKnown = deltaTypes[open.type]?.includes(type) ?? !state.isOwn;
  check(state, isKnown, `deltas: ${type} comes to ${open.type} ${index}`);
  check(state, !open.hasSignature, `deltas: ${type} follows the signature of ${index}`);
  open.hasSignature = type === 'signature_delta';
}

function closeBlock(state: LawState, data: JsonValue): void {
  const { open } = state;
  const index = Number(member(data, 'index'));
  state.open = undefined;
  if (open?.index !== index) return check(state, false, `blocks: block ${index} is not open`);
  const isSigned = !state.isOwn || open.type !== 'thinking' || open.hasSignature;
  check(state, isSigned, `blocks: thinking ${index} has no signature`);
}

function checkEnd(state: LawState, data: JsonValue): void {
  const usage = member(data, 'usage');
  state.deltas += 1;
  state.hasReason ||= typeof member(member(data, 'delta'), 'stop_reason') === 'string';
  check(state, state.open === undefined, 'end: a block is open');
  check(state, !state.isOwn || state.deltas === 1, 'end: message_delta comes twice');
  check(state, isCount(member(usage, 'output_tokens')), 'usage: no output_tokens at the end');
  const hasInput = !state.isOwn || isCount(member(usage, 'input_tokens'));
  check(state, hasInput, 'usage: no input_tokens at the end');
}

/** After `message_delta` clients have taken the reply for complete. */
function checkError(state: LawState, data: JsonValue): void {
  const error = member(data, 'error');
  const isText = (name: string): boolean => typeof member(error, name) === 'string';
  check(state, isText('type') && isText('message'), 'error: it has no type or no message');
  check(state, state.deltas === 0, 'error: it follows message_delta');
  const hasId = !state.isOwn || typeof member(data, 'request_id') === 'string';
  check(state, hasId, 'error: it has no request_id');
  state.ended = 'error';
}

/**
 * Assembles the message of a stream by the rules of Anthropic's SDK. Input that is no JSON object
 * is `{"_raw": …}`, as in whole replies.
 */
export function foldedMessage(events: readonly MessagesEvent[]): JsonObject {
  let message: JsonObject = {};
  const blocks: JsonObject[] = [];
  for (const { data } of events) {
    const delta = member(data, 'delta');
    switch (member(data, 'type')) {
      case 'message_start':
        message = objectOf(member(data, 'message'));
        break;
      case 'content_block_start':
        blocks.push(objectOf(member(data, 'content_block')));
        break;
      case 'content_block_delta': {
        const index = Number(member(data, 'index'));
        blocks[index] = withDelta(blocks[index] ?? {}, delta);
        break;
      }
      case 'message_delta':
        message = { ...message, ...objectOf(delta), usage: mergedUsage(message, data) };
        break;
      default:
    }
  }
  return { ...message, content: blocks.map(withInput) };
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function withDelta(block: JsonObject, delta: JsonValue | undefined): JsonObject {
  const longer = (name: string, piece = name): JsonObject => ({
    ...block,
    [name]: `${String(block[name] ?? '')}${String(member(delta, piece))}`,
  });
  switch (member(delta, 'type')) {
    case 'text_delta':
      return longer('text');
    case 'thinking_delta':
      return longer('thinking');
    case 'signature_delta':
      return { ...block, signature: member(delta, 'signature') ?? null };
    case 'input_json_delta':
      return longer('json', 'partial_json');
    case 'citations_delta': {
      const citation = member(delta, 'citation') ?? null;
      return { ...block, citations: [...items(block.citations), citation] };
    }
    default:
      return { ...block, ...objectOf(delta), type: block.type ?? null };
  }
}

function withInput({ json, ...block }: JsonObject): JsonObject {
  if (typeof json !== 'string' || json.trim() === '') return block;
  return { ...block, input: inputOf(json) };
}

function inputOf(json: string): JsonValue {
  try {
    const input: JsonValue = JSON.parse(json);
    return isJsonObject(input) ? input : { _raw: json };
  } catch {
    return { _raw: json };
  }
}

/** The figures of the end replace those of the start, unless they are null. */
function mergedUsage(message: JsonObject, data: JsonValue): JsonObject {
  const stated = Object.entries(objectOf(member(data, 'usage')));
  return {
    ...objectOf(message.usage),
    ...Object.fromEntries(stated.filter(([, count]) => count !== null)),
  };
}
