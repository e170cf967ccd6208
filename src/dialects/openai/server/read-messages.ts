/**
 * Reads the messages of a chat into turns: separates the leading instructions, and matches tool
 * results with their calls.
 */
import { checkMessageCount, checkNestedJson } from '../../../canonical/complexity.ts';
import type { TextPart, ToolCallPart, ToolResultPart, Turn } from '../../../canonical/request.ts';
import { items, type JsonObject, member } from '../../../json.ts';
import {
  type ObjectAtPath,
  objectsIn,
  refuse,
  requiredText,
  textIn,
  textsOnly,
} from '../../read-members.ts';
import { type AssistantMessage, bareCallId, readAssistant } from './read-assistant.ts';
import { cacheControlOf, readContent } from './read-parts.ts';

export interface Conversation {
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
}

export function readMessages(body: JsonObject): Conversation {
  checkMessageCount(items(member(body, 'messages')).length, 'messages');
  const messages = objectsIn(body, 'messages', '');
  const first = messages.findIndex((message) => !isInstruction(message));
  const head = (first === -1 ? messages : messages.slice(0, first)).map(readInstruction);
  if (first !== -1) {
    const turns = readTurns(messages.slice(first));
    checkNestedJson(turns);
    return { system: nonEmptyTexts(head.flat()), turns };
  }
  const last = head.at(-1);
  if (last === undefined) return refuse('messages', 'is empty. Send at least one message.');
  // No provider but OpenAI replies to instructions alone.
  return {
    system: nonEmptyTexts(head.slice(0, -1).flat()),
    turns: [{ role: 'user', parts: last }],
  };
}

function isInstruction({ value: message }: ObjectAtPath): boolean {
  const role = member(message, 'role');
  return role === 'system' || role === 'developer';
}

function readInstruction(message: ObjectAtPath): readonly TextPart[] {
  return withCacheControl(textsOnly(readContent(message)), message);
}

function nonEmptyTexts(parts: readonly TextPart[]): readonly TextPart[] {
  return parts.filter(({ text }) => text !== '');
}

function readTurns(messages: readonly ObjectAtPath[]): readonly Turn[] {
  const turns: Turn[] = [];
  const calls = new CallIndex();
  let results: ToolResultPart[] | undefined;
  for (const message of messages) {
    const role = member(message.value, 'role');
    if (role === 'tool' || role === 'function') {
      if (results === undefined) {
        results = [];
        turns.push({ role: 'user', parts: results });
      }
      results.push(role === 'tool' ? readResult(message, calls) : readOlderResult(message, calls));
      continue;
    }
    results = undefined;
    if (role === 'assistant') {
      const assistant = readAssistant(message, turns.length);
      calls.add(assistant);
      turns.push({ role, parts: withCacheControl(assistant.parts, message) });
    } else if (isInstruction(message)) {
      turns.push({ role: 'system', parts: readInstruction(message) });
    } else {
      turns.push(readUser(message));
    }
  }
  return turns;
}

function readUser(message: ObjectAtPath): Turn {
  if (member(message.value, 'role') !== 'user') {
    return refuse(
      `${message.at}.role`,
      'must be "system", "developer", "user", "assistant" or "tool".',
    );
  }
  const parts = readContent(message);
  if (parts.length === 0) return refuse(`${message.at}.content`, 'must hold text or other parts.');
  return { role: 'user', parts: withCacheControl(parts, message) };
}

function readResult(message: ObjectAtPath, calls: CallIndex): ToolResultPart {
  const { value, at } = message;
  const id = textIn(value, 'tool_call_id', at);
  if (id === undefined) {
    return refuse(`${at}.tool_call_id`, 'must be the id of the call that the message answers.');
  }
  const bareId = bareCallId(id);
  const call = bareId === '' ? calls.nextWithoutId() : calls.find(bareId);
  return resultPart(message, call?.id ?? bareId, call?.name ?? textIn(value, 'name', at));
}

/** Reads a result of the older `functions` API, which has no ids. */
function readOlderResult(message: ObjectAtPath, calls: CallIndex): ToolResultPart {
  const name = requiredText(message.value, 'name', message.at);
  return resultPart(message, calls.nextWithoutId()?.id ?? name, name);
}

function resultPart(
  message: ObjectAtPath,
  callId: string,
  name: string | undefined,
): ToolResultPart {
  return {
    kind: 'tool_result',
    at: message.at,
    callId,
    name,
    content: readContent(message),
    isError: false,
    cacheControl: cacheControlOf(message.value),
  };
}

/**
 * Finds the calls of earlier messages by id, and calls without an id in the order of their results.
 */
class CallIndex {
  // Some vendors restart their ids in every reply, so the later of two calls with one id applies.
  readonly #byId = new Map<string, ToolCallPart>();
  #waiting: ToolCallPart[] = [];

  add({ calls, withoutId }: AssistantMessage): void {
    if (calls.length === 0) return;
    for (const call of calls) this.#byId.set(call.id, call);
    this.#waiting = [...withoutId].reverse();
  }

  find(id: string): ToolCallPart | undefined {
    return this.#byId.get(id);
  }

  /** Of the latest message only; results are in the order of the calls. */
  nextWithoutId(): ToolCallPart | undefined {
    return this.#waiting.pop();
  }
}

/** Some callers put `cache_control` on the message; it applies to the last part. */
function withCacheControl<Kind extends Turn['parts'][number]>(
  parts: readonly Kind[],
  { value: message }: ObjectAtPath,
): readonly Kind[] {
  const cacheControl = cacheControlOf(message);
  if (cacheControl === undefined) return parts;
  const last = parts.length - 1;
  return parts.map((part, index) => (index === last ? { ...part, cacheControl } : part));
}
