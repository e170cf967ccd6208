/**
 * Reads `system` and `messages` into turns. Consecutive messages of the assistant are one turn, as
 * they are to Anthropic.
 */

import { checkMessageCount, checkNestedJson } from '../../../canonical/complexity.ts';
import type { ContentRequest, TextPart, Turn } from '../../../canonical/request.ts';
import { type TurnEntry, withSignatures } from '../../../canonical/signature-marks.ts';
import { pairResults } from '../../../canonical/tool-results.ts';
import { type JsonObject, member } from '../../../json.ts';
import { notPortable } from '../../not-portable.ts';
import {
  isList,
  type ObjectAtPath,
  objectsIn,
  presentMember,
  refuse,
  textIn,
} from '../../read-members.ts';
import {
  type BlockContext,
  blocksOf,
  readAssistantBlock,
  readSystemBlock,
  readUserBlock,
} from './read-parts.ts';

export interface Conversation extends Pick<ContentRequest, 'system' | 'turns'> {
  /** The paths of blocks that Claude Code adds to the system prompt by itself. */
  readonly attributions: readonly string[];
}

export function readConversation(body: JsonObject, context: BlockContext): Conversation {
  const { drop } = context;
  const prompt = readSystem(body);
  const attributions = prompt.filter(isAttribution).map(({ at }) => at);
  for (const at of attributions) drop(at);
  const sent = objectsIn(body, 'messages', '');
  checkMessageCount(sent.length, 'messages');
  const { summary, messages } = sinceCompaction(sent.map(readMessage));
  const read = readTurns(messages, context);
  const turns =
    summary === undefined ? read : [{ role: 'user', parts: [summary] } as const, ...read];
  const first = turns.findIndex(({ role }) => role !== 'system');
  if (first === -1) refuse('messages', 'must contain a user message.');
  const instructions = turns
    .slice(0, first)
    .flatMap(({ parts }) => parts.filter((part) => part.kind === 'text'));
  const paired = pairResults(turns.slice(first));
  for (const at of paired.dropped) drop(at);
  // The scan of the body has already counted the arguments of calls, because Anthropic's are JSON
  // values and not strings.
  checkNestedJson(paired.turns.filter(({ role }) => role === 'user'));
  const system = [...prompt.filter((part) => !isAttribution(part)), ...instructions];
  return { system, turns: paired.turns, attributions };
}

function readMessage(message: ObjectAtPath): SentMessage {
  const role = member(message.value, 'role');
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    return refuse(`${message.at}.role`, 'must be "user", "assistant" or "system".');
  }
  return { role, blocks: blocksOf(message) };
}

function readTurns(messages: readonly SentMessage[], context: BlockContext): readonly Turn[] {
  const turns: Turn[] = [];
  let assistant: TurnEntry[] = [];
  const add = (turn: Turn): void => {
    if (turn.parts.length > 0) turns.push(turn);
  };
  const closeAssistant = (): void => {
    if (assistant.length === 0) return;
    const { parts, dropped } = withSignatures(assistant);
    for (const at of dropped) context.drop(at);
    add({ role: 'assistant', parts });
    assistant = [];
  };
  for (const { role, blocks } of messages) {
    if (role === 'assistant') {
      for (const block of blocks) assistant.push(...readAssistantBlock(block, context));
      continue;
    }
    closeAssistant();
    const parts =
      role === 'user'
        ? blocks.flatMap((block) => readUserBlock(block, context.drop))
        : blocks.map(readSystemBlock);
    add({ role, parts });
  }
  closeAssistant();
  return turns;
}

/** Claude Code's version differs in every call, which defeats caches; one vendor refuses it. */
function isAttribution({ at, text }: TextPart): boolean {
  return at !== 'system' && text.startsWith('x-anthropic-billing-header:');
}

function readSystem(body: JsonObject): readonly TextPart[] {
  const system = presentMember(body, 'system') ?? '';
  if (typeof system === 'string') {
    return system === '' ? [] : [{ kind: 'text', at: 'system', text: system }];
  }
  if (!isList(system)) return refuse('system', 'must be a string or an array of blocks.');
  return objectsIn(body, 'system', '')
    .map(readSystemBlock)
    .filter(({ text }) => text !== '');
}

interface SentMessage {
  readonly role: Turn['role'];
  readonly blocks: readonly ObjectAtPath[];
}

interface LivePart {
  /** The summary of the messages before; undefined if nothing was left out. */
  readonly summary: TextPart | undefined;
  /** Without compaction blocks. */
  readonly messages: readonly SentMessage[];
}

/**
 * Cuts the conversation at its last compaction, which has the summary of everything before it. A
 * compaction that failed has no content, and changes nothing.
 */
function sinceCompaction(messages: readonly SentMessage[]): LivePart {
  const index = messages.findLastIndex(({ blocks }) => blocks.some(isEffective));
  const message = messages[index];
  if (message === undefined) return { summary: undefined, messages: messages.map(withoutMarks) };
  const at = message.blocks.findLastIndex(isEffective);
  const rest = { ...message, blocks: message.blocks.slice(at + 1) };
  return {
    summary: message.blocks.slice(at, at + 1).map(readSummary)[0],
    messages: [rest, ...messages.slice(index + 1)].map(withoutMarks),
  };
}

function isCompaction({ value }: ObjectAtPath): boolean {
  return member(value, 'type') === 'compaction';
}

function isEffective(block: ObjectAtPath): boolean {
  if (!isCompaction(block)) return false;
  return contentOf(block) !== '' || Boolean(textIn(block.value, 'encrypted_content', block.at));
}

function withoutMarks(message: SentMessage): SentMessage {
  if (!message.blocks.some(isCompaction)) return message;
  return { ...message, blocks: message.blocks.filter((block) => !isCompaction(block)) };
}

function readSummary(block: ObjectAtPath): TextPart {
  const text = contentOf(block);
  if (text !== '') return { kind: 'text', at: block.at, text };
  throw notPortable(
    block.at,
    'Only Anthropic can read this summary. Send the messages before it instead.',
  );
}

function contentOf({ value, at }: ObjectAtPath): string {
  return textIn(value, 'content', at) ?? '';
}
