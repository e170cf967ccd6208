/**
 * The conversation as the fake Anthropic sees it, and the thinking of each of its rounds. A model
 * whose name has `-redacted-` also thinks in encrypted blocks.
 */
import { items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { agentOf, signatureOf } from './agent.ts';
import { claudeSignature, thinkingPieces } from './anthropic-recordings.ts';

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

/** Whether the request switches thinking on. */
export function isThinking(body: JsonValue | undefined): boolean {
  const type = member(member(body, 'thinking'), 'type');
  return type === 'enabled' || type === 'adaptive';
}

/**
 * The thinking of a round, counted from 0: the recorded one, or an agent's, which differs in each
 * round and has its own signature. It is empty but signed where the request omits its display.
 */
export function thinkingBlocks(body: JsonValue | undefined, round: number): readonly Block[] {
  if (!isThinking(body)) return [];
  const model = String(member(body, 'model'));
  const isAgent = agentOf(model).signsEachRound;
  const pieces = isAgent ? [...thinkingPieces, ` Round ${round + 1}.`] : thinkingPieces;
  const signature = isAgent ? signatureOfRound(round) : claudeSignature;
  const shown = member(member(body, 'thinking'), 'display') === 'omitted' ? [] : pieces;
  const block: Block = {
    whole: { type: 'thinking', thinking: shown.join(''), signature },
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...shown.map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature },
    ],
  };
  return redacts(model) ? [redactedBlock(round), block] : [block];
}

function redactedBlock(round: number): Block {
  const whole: JsonObject = { type: 'redacted_thinking', data: redactedDataOf(round) };
  return { whole, start: whole, deltas: [] };
}

/** Whether a model also thinks in encrypted blocks. */
export function redacts(model: string): boolean {
  return model.includes('-redacted-');
}

/** The `data` of an agent's encrypted thinking in a round, counted from 0. */
export function redactedDataOf(round: number): string {
  return signatureOf(`redacted ${round}`);
}

/** The signature of an agent's thinking in a round, counted from 0. */
export function signatureOfRound(round: number): string {
  return signatureOf(`${thinkingPieces.join('')} Round ${round + 1}.`);
}
