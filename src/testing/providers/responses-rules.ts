/**
 * The input items of Responses: what they refer to, and the conversations that OpenAI refuses, such
 * as reasoning without the item that follows it and calls without output.
 */
import { createHash } from 'node:crypto';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { openaiError } from './openai-errors.ts';
import type { Script } from './scripts.ts';
import { outputOf, type StoredResponses } from './stored-responses.ts';

/** The conversation of a request: its items, or OpenAI's refusal. */
export type Conversation = { readonly items: readonly JsonObject[] } | { readonly refusal: Script };

/** The items of a request, with those of the responses and items that it refers to. */
export function conversationOf(body: JsonValue | undefined, stored: StoredResponses): Conversation {
  const previous = member(body, 'previous_response_id') ?? null;
  const before = typeof previous === 'string' ? stored.find(previous) : undefined;
  if (previous !== null && before === undefined) {
    return refused(`Previous response with id '${String(previous)}' not found.`, {
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    });
  }
  const history = before === undefined ? [] : [...before.input, ...outputOf(before)];
  const given = inputItems(member(body, 'input')).map((item) => resolved(item, stored));
  const missing = given.find(({ item }) => item === undefined);
  if (missing !== undefined) return notFound(missing.id);
  const all = [...history, ...given.flatMap(({ item }) => (item === undefined ? [] : [item]))];
  return refusedItems(all) ?? { items: all };
}

/** The input as items: a text is one user message. */
function inputItems(input: JsonValue | undefined): readonly JsonObject[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return items(input).filter(isJsonObject);
}

interface Resolved {
  readonly id: string;
  readonly item: JsonObject | undefined;
}

/** A reference is replaced by its item. Reasoning without its content is looked up as well. */
function resolved(item: JsonObject, stored: StoredResponses): Resolved {
  const id = String(member(item, 'id') ?? '');
  const isReference =
    member(item, 'type') === 'item_reference' ||
    (member(item, 'type') === undefined && member(item, 'role') === undefined);
  const isBareReasoning =
    member(item, 'type') === 'reasoning' && (member(item, 'encrypted_content') ?? null) === null;
  if (!isReference && !isBareReasoning) return { id, item };
  return { id, item: stored.item(id) };
}

/** How many rounds of calls were made since the last user message. */
export function roundsMade(conversation: readonly JsonObject[]): number {
  const lastUserMessage = conversation.findLastIndex((item) => member(item, 'role') === 'user');
  const current = conversation.slice(lastUserMessage + 1);
  return current.filter((item, index) => isCall(item) && !isCall(current[index - 1])).length;
}

/** Whether the last item is the output of a call. */
export function endsWithOutput(conversation: readonly JsonObject[]): boolean {
  return isOutput(conversation.at(-1));
}

function isCall(item: JsonObject | undefined): boolean {
  return /^(?:function|custom_tool)_call$/.test(String(member(item, 'type')));
}

function isOutput(item: JsonObject | undefined): boolean {
  return /^(?:function|custom_tool)_call_output$/.test(String(member(item, 'type')));
}

function refusedItems(conversation: readonly JsonObject[]): Conversation | undefined {
  const outputs = conversation.filter(isOutput).map((item) => member(item, 'call_id'));
  const calls = conversation.filter(isCall).map((item) => member(item, 'call_id'));
  const open = calls.find((id) => !outputs.includes(id));
  if (open !== undefined) return refused(`No tool output found for function call ${open}.`);
  const stray = outputs.find((id) => !calls.includes(id));
  if (stray !== undefined) {
    return refused(`No tool call found for function call output with call_id ${stray}.`);
  }
  for (const [index, item] of conversation.entries()) {
    if (member(item, 'type') !== 'reasoning') continue;
    const refusal = refusedReasoning(item, conversation[index + 1]);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function refusedReasoning(
  item: JsonObject,
  next: JsonObject | undefined,
): Conversation | undefined {
  const id = String(member(item, 'id') ?? '');
  const sealed = member(item, 'encrypted_content') ?? null;
  if (sealed !== null && !isSealed(sealed)) {
    const message = `The encrypted content for item ${id} could not be verified.`;
    return refused(message, { param: 'input', code: 'invalid_encrypted_content' });
  }
  const isFollowed =
    isCall(next) || member(next, 'type') === 'reasoning' || member(next, 'role') === 'assistant';
  if (isFollowed) return undefined;
  return refused(
    `Item '${id}' of type 'reasoning' was provided without its required following item.`,
  );
}

/** Sealed reasoning; a change of any character is noticed when it is sent back. */
export function seal(text: string): string {
  const digest = createHash('sha256').update(text).digest('base64url');
  return `gAAAAAB${Buffer.from(text).toString('base64url')}_${digest}`;
}

function isSealed(content: JsonValue): boolean {
  const [, text = ''] = /^gAAAAAB([\w-]+)_[\w-]{43}$/.exec(String(content)) ?? [];
  return content === seal(Buffer.from(text, 'base64url').toString());
}

/** OpenAI's reply to the id of an item that it does not keep. */
function notFound(id: string): Conversation {
  return {
    refusal: openaiError(
      404,
      `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. ` +
        'Try again with `store` set to true, or remove this item from your input.',
      { param: 'input' },
    ),
  };
}

function refused(
  message: string,
  details: { readonly param: string; readonly code?: string } = { param: 'input' },
): Conversation {
  return { refusal: openaiError(400, message, details) };
}
