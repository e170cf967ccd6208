/**
 * Reads the messages of a chat into turns: who speaks, which instruction stands at the head, and
 * which call a tool's result answers (TRANSLATION §6.1, §6.4, §6.5).
 */
import { checkMessageCount, checkNestedJson } from '../../../canonical/complexity.ts';
import type { TextPart, ToolCallPart, ToolResultPart, Turn } from '../../../canonical/request.ts';
import { items, type JsonObject, member } from '../../../json.ts';
import { type AssistantMessage, bareCallId, readAssistant } from './read-assistant.ts';
import { type ObjectAtPath, objectsIn, refuse, requiredText, textIn } from './read-members.ts';
import { cacheControlOf, readContent, readTexts } from './read-parts.ts';

/** What was said so far. */
export interface Conversation {
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
}

/** Every message of the body, in its order. */
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
  // Nobody but OpenAI answers to instructions alone.
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
  return withCacheControl(readTexts(message), message);
}

function nonEmptyTexts(parts: readonly TextPart[]): readonly TextPart[] {
  return parts.filter(({ text }) => text !== '');
}

function readTurns(messages: readonly ObjectAtPath[]): readonly Turn[] {
  const turns: Turn[] = [];
  const calls = callIndex();
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

/** A result in the words of `functions`, which know no ids. */
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

/** Which calls were made, and which of those without an id still wait for a result. */
interface CallIndex {
  add(message: AssistantMessage): void;
  find(id: string): ToolCallPart | undefined;
  /** The first waiting call of the latest message; the results stand in the order of the calls. */
  nextWithoutId(): ToolCallPart | undefined;
}

function callIndex(): CallIndex {
  // Some vendors number from 0 in every answer: of two calls with one id the later is meant.
  const byId = new Map<string, ToolCallPart>();
  let waiting: readonly ToolCallPart[] = [];
  let next = 0;
  return {
    add: ({ calls, withoutId }) => {
      if (calls.length === 0) return;
      for (const call of calls) byId.set(call.id, call);
      waiting = withoutId;
      next = 0;
    },
    find: (id) => byId.get(id),
    nextWithoutId: () => {
      next += 1;
      return waiting[next - 1];
    },
  };
}

/** Some callers put `cache_control` on the message: its last part is meant. */
function withCacheControl<Kind extends Turn['parts'][number]>(
  parts: readonly Kind[],
  { value: message }: ObjectAtPath,
): readonly Kind[] {
  const cacheControl = cacheControlOf(message);
  if (cacheControl === undefined) return parts;
  const last = parts.length - 1;
  return parts.map((part, index) => (index === last ? { ...part, cacheControl } : part));
}
