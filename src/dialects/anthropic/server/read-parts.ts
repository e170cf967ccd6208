/** Reads the blocks of a message. What a block may be depends on the role of the message. */

import type { RawValues } from '../../../bytes/json/edit-elements.ts';
import { openEnvelope } from '../../../canonical/envelope.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type {
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../../canonical/request.ts';
import {
  envelopeEntries,
  type SignatureMark,
  type TurnEntry,
} from '../../../canonical/signature-marks.ts';
import type { GatewayError } from '../../../errors.ts';
import { notPortable } from '../../not-portable.ts';
import {
  flagIn,
  isList,
  type ObjectAtPath,
  objectsIn,
  presentMember,
  refuse,
  requiredObject,
  requiredText,
  textIn,
} from '../../read-members.ts';
import {
  type ContentParts,
  readDocument,
  readImage,
  readSearchResult,
  textOf,
} from './read-media.ts';

/** Lists what is left out or replaced, by the caller's name. */
export type Drop = (at: string) => void;

export interface BlockContext {
  readonly drop: Drop;
  readonly rawJson: RawValues | undefined;
}

/** The blocks of `content`; a string is one block of text. */
export function blocksOf({ value: message, at }: ObjectAtPath): readonly ObjectAtPath[] {
  const content = presentMember(message, 'content');
  const path = `${at}.content`;
  if (typeof content === 'string') return [{ at: path, value: { type: 'text', text: content } }];
  if (!isList(content)) return refuse(path, 'must be a string or an array of blocks.');
  return objectsIn(message, 'content', at);
}

export function readUserBlock(located: ObjectAtPath, drop: Drop): readonly Part[] {
  const { value: block, at } = located;
  const type = requiredText(block, 'type', at);
  if (type === 'tool_result') return [readResult(located, drop)];
  return readContentBlock(located, type, drop);
}

export function readAssistantBlock(
  located: ObjectAtPath,
  { drop, rawJson }: BlockContext,
): readonly TurnEntry[] {
  const { value: block, at } = located;
  const type = requiredText(block, 'type', at);
  switch (type) {
    case 'tool_use':
      return [readCall(located, rawJson)];
    case 'thinking':
    case 'redacted_thinking': {
      const readSealed = type === 'thinking' ? readThinking : readRedactedThinking;
      const { entries, dropped } = readSealed(located);
      for (const name of dropped) drop(name);
      return entries;
    }
    default:
      return readContentBlock(located, type, drop);
  }
}

export function readSystemBlock(located: ObjectAtPath): TextPart {
  const { value: block, at } = located;
  const type = requiredText(block, 'type', at);
  if (type !== 'text') throw unsupported(at, type);
  return readText(located);
}

function readContentBlock(located: ObjectAtPath, type: string, drop: Drop): ContentParts {
  const { at } = located;
  switch (type) {
    case 'text':
      return [readText(located)];
    case 'image':
      return [readImage(located)];
    case 'document':
      return readDocument(located, drop);
    case 'search_result':
      return [readSearchResult(located, drop)];
    default:
      if (!leftOut.has(type)) throw unsupported(at, type);
      drop(at);
      return [];
  }
}

/** Blocks whose effect is in the texts around them: tools that Anthropic ran, and their results. */
const leftOut: ReadonlySet<string> = new Set([
  ...['server_tool_use', 'web_search_tool_result', 'web_fetch_tool_result'],
  ...['code_execution_tool_result', 'bash_code_execution_tool_result'],
  ...['text_editor_code_execution_tool_result', 'tool_search_tool_result', 'advisor_tool_result'],
  ...['mcp_tool_use', 'mcp_tool_result', 'mcp_tool_listing', 'fallback'],
]);

/** An unknown block is content, so that it can't be left out. */
function unsupported(at: string, type: string): GatewayError {
  const what = known.has(type) ? `\`${type}\` blocks here` : 'blocks of this type';
  return notPortable(at, `This model does not support ${what}. Leave the block out.`);
}

/** The types that a message may name; any other type may be arbitrary text from the caller. */
const known: ReadonlySet<string> = new Set([
  ...['text', 'image', 'document', 'search_result', 'thinking', 'redacted_thinking', 'tool_use'],
  ...['tool_result', 'tool_reference', 'tool_addition', 'tool_removal', 'container_upload'],
  ...['browser_state', 'compaction'],
  ...leftOut,
]);

function readText(located: ObjectAtPath): TextPart {
  return { kind: 'text', at: located.at, text: textOf(located) };
}

/** The arguments stay as the caller wrote them, so that prompt caches keep matching. */
function readCall(
  { value: block, at }: ObjectAtPath,
  rawJson: RawValues | undefined,
): ToolCallPart {
  const input = requiredObject(block, 'input', at);
  return {
    kind: 'tool_call',
    at,
    id: requiredText(block, 'id', at),
    name: requiredText(block, 'name', at),
    arguments: rawJson?.(`${at}.input`) ?? jsonText(input),
  };
}

function readResult(located: ObjectAtPath, drop: Drop): ToolResultPart {
  const { value: block, at } = located;
  const content = presentMember(block, 'content');
  return {
    kind: 'tool_result',
    at,
    callId: requiredText(block, 'tool_use_id', at),
    name: undefined,
    content:
      content === undefined
        ? []
        : blocksOf(located).flatMap((piece) => readResultBlock(piece, drop)),
    isError: flagIn(block, 'is_error', at) ?? false,
  };
}

/** A found tool is declared in the request, so that its name is all that the model needs. */
function readResultBlock(located: ObjectAtPath, drop: Drop): ContentParts {
  const { value: block, at } = located;
  const type = textIn(block, 'type', at) ?? '';
  if (type !== 'tool_reference') return readContentBlock(located, type, drop);
  drop(at);
  const name = requiredText(block, 'tool_name', at);
  return [{ kind: 'text', at, text: `Tool ${name} is available.\n` }];
}

export interface ReadThinking {
  readonly entries: readonly (ReasoningPart | SignatureMark)[];
  /** The caller's name for what no upstream can be sent. */
  readonly dropped: readonly string[];
}

/** Agents send many blocks with every request, whose paths would fill the header. */
const listedAs = 'messages.thinking';

/**
 * Reads a `thinking` block of a history. One of this gateway holds, in an envelope, what the
 * upstream of an earlier reply needs back. A block of Anthropic's own has a signature that no other
 * provider can read, so it is left out.
 */
export function readThinking({ value: block, at }: ObjectAtPath): ReadThinking {
  const text = textIn(block, 'thinking', at) ?? '';
  return readSealed(textIn(block, 'signature', at), text, at);
}

export function readRedactedThinking({ value: block, at }: ObjectAtPath): ReadThinking {
  return readSealed(textIn(block, 'data', at), '', at);
}

function readSealed(sealed: string | undefined, shown: string, at: string): ReadThinking {
  const envelope = openEnvelope(sealed ?? '');
  return envelope === undefined
    ? { entries: [], dropped: [listedAs] }
    : { entries: envelopeEntries(envelope, shown, { at, sealedAt: listedAs }), dropped: [] };
}
