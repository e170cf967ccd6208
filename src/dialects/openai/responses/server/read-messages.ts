/** Reads `instructions` and the items of `input` into turns. */

import { checkMessageCount, checkNestedJson } from '../../../../canonical/complexity.ts';
import { customArguments } from '../../../../canonical/custom-tools.ts';
import { openEnvelope } from '../../../../canonical/envelope.ts';
import type {
  MediaPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../../../canonical/request.ts';
import {
  envelopeEntries,
  type SignatureMark,
  shownReasoning,
} from '../../../../canonical/signature-marks.ts';
import type { GatewayError } from '../../../../errors.ts';
import { items, type JsonObject, type JsonValue, member } from '../../../../json.ts';
import { notPortable } from '../../../not-portable.ts';
import {
  argumentsText,
  flagIn,
  isList,
  mediaInBase64,
  type ObjectAtPath,
  objectIn,
  objectsIn,
  presentMember,
  refuse,
  requiredText,
  textIn,
  textsOnly,
} from '../../../read-members.ts';
import type { CallerTool } from './exchange.ts';
import { readContent } from './read-parts.ts';
import type { ToolNames } from './tool-names.ts';
import { type BuiltTurns, TurnBuilder } from './turn-builder.ts';

export function inputItems(body: JsonObject): readonly ObjectAtPath[] {
  const input = presentMember(body, 'input');
  if (typeof input === 'string') return [];
  if (input !== undefined && !isList(input)) {
    return refuse('input', 'must be a string or an array of items.');
  }
  checkMessageCount(items(input).length, 'input');
  return objectsIn(body, 'input', '');
}

export function calledTools(input: readonly ObjectAtPath[]): readonly CallerTool[] {
  return input.flatMap((item): readonly CallerTool[] => {
    const kind = callKindOf(item.value);
    return kind === undefined ? [] : [calledTool(item, kind)];
  });
}

export interface InputContext {
  readonly names: ToolNames;
  readonly drop: (at: string) => void;
}

export function readConversation(
  body: JsonObject,
  input: readonly ObjectAtPath[],
  context: InputContext,
): Pick<BuiltTurns, 'system' | 'turns'> {
  const instructions = textIn(body, 'instructions', '') ?? '';
  const first: TextPart = { kind: 'text', at: 'instructions', text: instructions };
  const builder = new TurnBuilder([first]);
  const text = presentMember(body, 'input');
  if (typeof text === 'string') builder.addUser([{ kind: 'text', at: 'input', text }]);
  const lastResults = lastResultIndexes(input);
  for (const [index, item] of input.entries()) {
    const hasResultAfter = (callId: string): boolean => (lastResults.get(callId) ?? -1) > index;
    readItem(item, { ...context, builder, hasResultAfter });
  }
  const { system, turns, dropped } = builder.end();
  for (const at of dropped) context.drop(at);
  checkNestedJson(turns);
  const head = system.filter(({ text }) => text !== '');
  if (turns.length > 0) return { system: head, turns };
  const last = head.at(-1);
  if (last === undefined) return refuse('input', 'is empty. Send at least one message.');
  // No provider but OpenAI replies to instructions alone.
  return { system: head.slice(0, -1), turns: [{ role: 'user', parts: [last] }] };
}

interface ItemContext extends InputContext {
  readonly builder: TurnBuilder;
  readonly hasResultAfter: (callId: string) => boolean;
}

function readItem(located: ObjectAtPath, context: ItemContext): void {
  const { value: item, at } = located;
  const type = typeOf(item);
  const kind = callKindOf(item);
  if (kind !== undefined) {
    const call = readCall(located, kind, context);
    context.builder.addCall(call, context.hasResultAfter(call.id));
  } else if (type === 'message') {
    readMessage(located, context);
  } else if (isResult(item)) {
    context.builder.addResult(readResult(located, context));
  } else if (type === 'reasoning') {
    const { entries, dropped } = readReasoningItem(located);
    for (const name of dropped) context.drop(name);
    context.builder.addAssistant(entries);
  } else if (type === 'item_reference') {
    throw referenceError(at);
  } else if (type === imageCall && (textIn(item, 'result', at) ?? '').trim() !== '') {
    context.builder.addAssistant([generatedImage(located)]);
  } else if (leftOut.has(type)) {
    context.drop(at);
  } else if (!settings.has(type)) {
    throw notPortable(
      `${at}.type`,
      'This model does not support items of this type. Leave the item out.',
    );
  }
}

const imageCall = 'image_generation_call';

function generatedImage({ value: item, at }: ObjectAtPath): MediaPart {
  const format = textIn(item, 'output_format', at) ?? 'png';
  const media = mediaInBase64(requiredText(item, 'result', at), `image/${format}`);
  return { kind: 'media', at, isGenerated: true, ...media };
}

/** Items whose effect is in the text and the calls next to them. */
const leftOut: ReadonlySet<string> = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  imageCall,
  'mcp_list_tools',
  'mcp_call',
  'tool_search_call',
  'tool_search_output',
]);

/** Items that are read together with the settings of the body. */
const settings: ReadonlySet<string> = new Set(['additional_tools', 'configuration_update']);

/** Only messages and references to stored items may leave the type out. */
function typeOf(item: JsonObject): string {
  const type = presentMember(item, 'type');
  if (typeof type === 'string') return type;
  return presentMember(item, 'role') === undefined && presentMember(item, 'id') !== undefined
    ? 'item_reference'
    : 'message';
}

function referenceError(at: string): GatewayError {
  return notPortable(
    at,
    'This model keeps no earlier items. Send items whole (AI SDK: ' +
      '`providerOptions.openai.store = false`).',
  );
}

function readMessage(located: ObjectAtPath, { builder, drop }: ItemContext): void {
  const { value: message, at } = located;
  switch (member(message, 'role')) {
    case 'user': {
      const parts = readContent(located, 'content', drop);
      if (parts.length === 0) refuse(`${at}.content`, 'must hold text or other parts.');
      builder.addUser(parts);
      return;
    }
    case 'assistant':
      if (!('content' in message)) refuse(`${at}.content`, 'must hold text or other parts.');
      // Several clients send an empty message together with calls; it is ignored.
      if (message.content === '') return;
      builder.addAssistant(readContent(located, 'content', drop));
      return;
    case 'system':
    case 'developer':
      builder.addInstruction(textsOnly(readContent(located, 'content', drop)));
      return;
    default:
      refuse(`${at}.role`, 'must be "system", "developer", "user" or "assistant".');
  }
}

function callKindOf(item: JsonObject): CallerTool['kind'] | undefined {
  const type = member(item, 'type');
  if (type === 'function_call') return 'function';
  return type === 'custom_tool_call' ? 'custom' : undefined;
}

function calledTool({ value: item, at }: ObjectAtPath, kind: CallerTool['kind']): CallerTool {
  return { namespace: textIn(item, 'namespace', at), name: requiredText(item, 'name', at), kind };
}

function readCall(
  located: ObjectAtPath,
  kind: CallerTool['kind'],
  { names }: ItemContext,
): ToolCallPart {
  const { value: item, at } = located;
  checkCaller(located);
  return {
    kind: 'tool_call',
    at,
    id: requiredText(item, 'call_id', at),
    name: names.flat(calledTool(located, kind)),
    arguments:
      kind === 'custom'
        ? customArguments(textIn(item, 'input', at) ?? '')
        : argumentsText(presentMember(item, 'arguments')),
  };
}

/** Refuses calls by a program and asynchronous calls: their results have another meaning. */
function checkCaller({ value: item, at }: ObjectAtPath): void {
  const caller = objectIn(item, 'caller', at);
  if (caller !== undefined && member(caller, 'type') !== 'direct') {
    throw notPortable(
      `${at}.caller`,
      'This model makes calls only itself. Leave calls by other callers out.',
    );
  }
  if (flagIn(item, 'async', at) !== true) return;
  throw notPortable(
    `${at}.async`,
    'This model waits for the results of its calls. Leave asynchronous calls out.',
  );
}

function isResult(item: JsonObject): boolean {
  const type = member(item, 'type');
  return type === 'function_call_output' || type === 'custom_tool_call_output';
}

function readResult(located: ObjectAtPath, { drop }: ItemContext): ToolResultPart {
  const { value: item, at } = located;
  checkCaller(located);
  return {
    kind: 'tool_result',
    at,
    callId: requiredText(item, 'call_id', at),
    name: textIn(item, 'name', at),
    content: readContent(located, 'output', drop),
    isError: false,
  };
}

function lastResultIndexes(input: readonly ObjectAtPath[]): ReadonlyMap<string, number> {
  const indexes = new Map<string, number>();
  for (const [index, { value: item }] of input.entries()) {
    const id = member(item, 'call_id');
    if (isResult(item) && typeof id === 'string') indexes.set(id, index);
  }
  return indexes;
}

export interface ReadReasoning {
  readonly entries: readonly (ReasoningPart | SignatureMark)[];
  readonly dropped: readonly string[];
}

/**
 * Reads a `reasoning` item: one block of reasoning, or one signature, that an upstream gave in an
 * earlier reply, in an envelope that names its provider.
 */
export function readReasoningItem({ value: item, at }: ObjectAtPath): ReadReasoning {
  const sealed = textIn(item, 'encrypted_content', at) ?? '';
  const envelope = openEnvelope(sealed);
  const text = shownText(item);
  const sealedAt = `${at}.encrypted_content`;
  if (envelope !== undefined) {
    return { entries: envelopeEntries(envelope, text, { at, sealedAt }), dropped: [] };
  }
  // OpenAI's own reasoning, which only OpenAI can read, or an envelope that was damaged.
  if (sealed !== '') {
    return { entries: shownReasoning(text, at), dropped: [sealedAt] };
  }
  if (textIn(item, 'id', at)?.startsWith('rs_tg_'))
    return { entries: shownReasoning(text, at), dropped: [] };
  return text === ''
    ? { entries: [], dropped: [at] }
    : { entries: [{ kind: 'reasoning', at, text }], dropped: [] };
}

function shownText(item: JsonObject): string {
  const content = textsOf(member(item, 'content')).join('');
  return content === '' ? textsOf(member(item, 'summary')).join('\n\n') : content;
}

function textsOf(parts: JsonValue | undefined): readonly string[] {
  return items(parts).flatMap((part) => {
    const text = member(part, 'text');
    return typeof text === 'string' ? [text] : [];
  });
}
