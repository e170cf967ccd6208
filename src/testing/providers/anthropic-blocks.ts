/** Messages and blocks, as the rules and the replies of the fake Anthropic see them. */
import { items, type JsonObject, type JsonValue, member } from '../../json.ts';

/** A block in a whole reply, and its beginning and deltas in a stream. */
export interface Block {
  readonly whole: JsonObject;
  readonly start: JsonObject;
  readonly deltas: readonly JsonObject[];
}

/** A message of the conversation. */
export interface Message {
  readonly role: JsonValue | undefined;
  /** A string counts as one block of text. */
  readonly blocks: readonly JsonValue[];
  /** Its path, as errors name it: `messages.2`. */
  readonly at: string;
}

/** The messages of a request; consecutive ones of one role count as one. */
export function messagesOf(body: JsonValue | undefined): readonly Message[] {
  const merged: { role: JsonValue | undefined; blocks: JsonValue[]; at: string }[] = [];
  for (const [index, message] of items(member(body, 'messages')).entries()) {
    const role = member(message, 'role');
    const content = member(message, 'content');
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : items(content);
    const last = merged.at(-1);
    if (last !== undefined && last.role === role) last.blocks.push(...blocks);
    else merged.push({ role, blocks: [...blocks], at: `messages.${index}` });
  }
  return merged;
}

/** The messages after the user's last text; tool results don't count as text. */
export function currentTurn(messages: readonly Message[]): readonly Message[] {
  const lastText = messages.findLastIndex(
    ({ role, blocks }) => role === 'user' && ofType(blocks, 'tool_result').length < blocks.length,
  );
  return messages.slice(lastText + 1);
}

/** How many rounds of calls were made since the last user message. */
export function roundsMade(body: JsonValue | undefined): number {
  return currentTurn(messagesOf(body)).filter(({ blocks }) => ofType(blocks, 'tool_use').length > 0)
    .length;
}

/** The blocks of these types. */
export function ofType(
  blocks: readonly JsonValue[],
  ...types: readonly string[]
): readonly JsonValue[] {
  return blocks.filter((block) => types.includes(String(member(block, 'type'))));
}
