/** `POST /v1/responses` as OpenAI replies to it: one turn, whole or as a stream. */
import { createHash } from 'node:crypto';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import {
  type Agent,
  agentOf,
  counted,
  type FaultReplies,
  openaiError,
  openaiFailure,
  outputOf,
  type ReplyContext,
  refuseBody,
  type StoredResponses,
  withFault,
} from './provider.ts';
import { chatAfterToolPieces, chatPieces, chatTokens, reasoningPieces } from './recordings.ts';
import {
  type Content,
  failedStream,
  type ResponseHead,
  streamed,
  usageOf,
  whole,
} from './responses-events.ts';
import { fragments, sampleOf } from './samples.ts';
import { json, type Script } from './scripts.ts';

export function responsesScript(body: JsonValue | undefined, context: ReplyContext): Script {
  const refusal = refuseBody(body) ?? refuseInput(body);
  if (refusal !== undefined) return refusal;
  const conversation = conversationOf(body, context.stored);
  if ('refusal' in conversation) return conversation.refusal;

  const head = headOf(body, context);
  const say = (content: Content): Script => {
    const response = whole(content, head);
    if (head.store) {
      context.stored.add(head.id, { response, input: conversation.items });
    }
    return member(body, 'stream') === true ? streamed(content, head) : json(200, response);
  };

  const faultReplies: FaultReplies = {
    error: openaiFailure,
    streamError: failedStream(head),
    blocked: () => say(refusedContent(context)),
    empty: () => say({ items: [], tokens: [12, 0] }),
    slowMs: context.slowMs,
  };
  return withFault(head.model, say(contentFor(body, conversation.items, context)), faultReplies);
}

function refuseInput(body: JsonValue | undefined): Script | undefined {
  const isSomething = ['input', 'instructions', 'previous_response_id', 'prompt'].some(
    (name) => (member(body, name) ?? null) !== null,
  );
  if (isSomething) return undefined;
  return openaiError(
    400,
    "Missing required parameter: 'input'. Provide at least one of 'input', " +
      "'previous_response_id', 'prompt', or 'conversation'.",
    { param: 'input', code: 'missing_required_parameter' },
  );
}

function headOf(body: JsonValue | undefined, context: ReplyContext): ResponseHead {
  return {
    id: counted('resp_', context),
    createdAtSeconds: context.createdAtSeconds,
    model: String(member(body, 'model')),
    store: member(body, 'store') !== false,
    request: isJsonObject(body) ? body : {},
  };
}

function contentFor(
  body: JsonValue | undefined,
  conversation: readonly JsonObject[],
  context: ReplyContext,
): Content {
  const model = String(member(body, 'model'));
  const agent = agentOf(model);
  const isReasoning = /^(?:gpt-[5-9]|o\d)|-agent-/.test(model);
  const reasoning = isReasoning ? [reasoningItem(body, context)] : [];
  const isDone = isOutput(conversation.at(-1)) && roundsMade(conversation) >= agent.rounds;
  const calls = isDone ? [] : callItems(chosenTools(body, agent), context);
  if (calls.length > 0) return { items: [...reasoning, ...calls], tokens: chatTokens.toolCall };

  const message = (pieces: readonly string[], tokens: Content['tokens']): Content => ({
    items: [...reasoning, { kind: 'text', id: counted('msg_', context), pieces }],
    tokens,
  });
  if (isDone) return message(chatAfterToolPieces, chatTokens.afterTool);
  const format = member(member(body, 'text'), 'format');
  if (member(format, 'type') === 'json_schema') {
    const written = JSON.stringify(sampleOf(member(format, 'schema')));
    return message(fragments(written), chatTokens.structured);
  }
  if (member(format, 'type') === 'json_object') {
    return message(fragments('{"greeting":"Hi there!"}'), chatTokens.structured);
  }
  return message(chatPieces, chatTokens.text);
}

/** Reasoning is sealed where `include` asks for it, and summarised where `reasoning` does. */
function reasoningItem(
  body: JsonValue | undefined,
  context: ReplyContext,
): Content['items'][number] {
  const id = counted('rs_', context);
  const isSealed = items(member(body, 'include')).includes('reasoning.encrypted_content');
  const wantsSummary = (member(member(body, 'reasoning'), 'summary') ?? null) !== null;
  return {
    kind: 'reasoning',
    id,
    summary: wantsSummary ? reasoningPieces : [],
    sealed: isSealed ? seal(id) : undefined,
  };
}

/** The tool that `tool_choice` names, or as many tools as the model calls at once. */
function chosenTools(body: JsonValue | undefined, agent: Agent): readonly JsonValue[] {
  const choice = member(body, 'tool_choice');
  if (choice === 'none') return [];
  const tools = items(member(body, 'tools')).filter((tool) =>
    ['function', 'custom'].includes(String(member(tool, 'type'))),
  );
  const forced = member(choice, 'name');
  const chosen = tools.filter((tool) => member(tool, 'name') === forced);
  if (chosen.length > 0) return chosen;
  const isOneByOne = member(body, 'parallel_tool_calls') === false;
  return tools.slice(0, isOneByOne ? 1 : (agent.callsAtOnce ?? 1));
}

function callItems(tools: readonly JsonValue[], context: ReplyContext): Content['items'] {
  return tools.map((tool) => {
    const isCustom = member(tool, 'type') === 'custom';
    const input = isCustom
      ? 'sample input'
      : JSON.stringify(sampleOf(member(tool, 'parameters') ?? { type: 'object' }));
    return {
      kind: isCustom ? 'custom' : 'function',
      id: counted(isCustom ? 'ctc_' : 'fc_', context),
      callId: counted('call_', context),
      name: String(member(tool, 'name')),
      pieces: fragments(input),
    };
  });
}

function refusedContent(context: ReplyContext): Content {
  const id = counted('msg_', context);
  return {
    items: [{ kind: 'refusal', id, pieces: ["I'm sorry, ", "but I can't help with that."] }],
    tokens: chatTokens.text,
  };
}

/** `POST /v1/responses/input_tokens`: the same for every prompt. */
export function inputTokensScript(body: JsonValue | undefined): Script {
  return (
    refuseBody(body) ??
    json(200, { object: 'response.input_tokens', input_tokens: chatTokens.text[0] })
  );
}

/** `POST /v1/responses/compact`: the user's messages, and one item that stands for the rest. */
export function compactScript(body: JsonValue | undefined, context: ReplyContext): Script {
  const refusal = refuseBody(body);
  if (refusal !== undefined) return refusal;
  const conversation = conversationOf(body, context.stored);
  if ('refusal' in conversation) return conversation.refusal;
  const messages = conversation.items.filter((item) => member(item, 'role') === 'user');
  const id = counted('cmp_', context);
  return json(200, {
    id: counted('resp_', context),
    object: 'response.compaction',
    created_at: context.createdAtSeconds,
    output: [...messages, { id, type: 'compaction', encrypted_content: seal(id) }],
    usage: usageOf(chatTokens.afterTool),
  });
}

type Conversation = { readonly items: readonly JsonObject[] } | { readonly refusal: Script };

/** The items of a request, with those of the responses and items that it refers to. */
function conversationOf(body: JsonValue | undefined, stored: StoredResponses): Conversation {
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
export function inputItems(input: JsonValue | undefined): readonly JsonObject[] {
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

function roundsMade(conversation: readonly JsonObject[]): number {
  const lastUserMessage = conversation.findLastIndex((item) => member(item, 'role') === 'user');
  const current = conversation.slice(lastUserMessage + 1);
  return current.filter((item, index) => isCall(item) && !isCall(current[index - 1])).length;
}

export function isCall(item: JsonObject | undefined): boolean {
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
  if (stray === undefined) return undefined;
  return refused(`No tool call found for function call output with call_id ${stray}.`);
}

/** Sealed reasoning; a change of any character is noticed when it is sent back. */
export function seal(text: string): string {
  const digest = createHash('sha256').update(text).digest('base64url');
  return `gAAAAAB${Buffer.from(text).toString('base64url')}_${digest}`;
}

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
