/**
 * Reads `compaction` blocks. Each has the summary of everything before it, which Anthropic
 * ignores from then on.
 */
import type { TextPart, Turn } from '../../../canonical/request.ts';
import { GatewayError } from '../../../errors.ts';
import { member } from '../../../json.ts';
import { type ObjectAtPath, textIn } from '../../read-members.ts';

/** A message and its blocks. */
export interface SentMessage {
  readonly role: Turn['role'];
  readonly blocks: readonly ObjectAtPath[];
}

/** The part of a conversation that counts. */
export interface LivePart {
  /** The summary of the messages before; undefined if nothing was left out. */
  readonly summary: TextPart | undefined;
  /** Without compaction blocks. */
  readonly messages: readonly SentMessage[];
}

/**
 * Cuts the conversation at its last compaction. A compaction that failed has no content, and
 * changes nothing.
 *
 * @throws GatewayError `not_portable` for a summary that only Anthropic can read
 */
export function sinceCompaction(messages: readonly SentMessage[]): LivePart {
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
  return contentOf(block) !== '' || encryptedOf(block) !== '';
}

function withoutMarks(message: SentMessage): SentMessage {
  if (!message.blocks.some(isCompaction)) return message;
  return { ...message, blocks: message.blocks.filter((block) => !isCompaction(block)) };
}

function readSummary(block: ObjectAtPath): TextPart {
  const text = contentOf(block);
  if (text !== '') return { kind: 'text', at: block.at, text };
  const message = 'Only Anthropic can read this summary. Send the messages before it instead.';
  throw new GatewayError('not_portable', message, { param: block.at });
}

function contentOf({ value, at }: ObjectAtPath): string {
  return textIn(value, 'content', at) ?? '';
}

function encryptedOf({ value, at }: ObjectAtPath): string {
  return textIn(value, 'encrypted_content', at) ?? '';
}
