/** `POST /v1/chat/completions` as OpenAI replies to it: one turn, whole or as a stream. */
import { items, type JsonObject, type JsonValue, member, parseJson } from '../../json.ts';
import {
  agentOf,
  counted,
  type FaultReplies,
  openaiFailure,
  openaiStreamError,
  type ReplyContext,
  refuseBody,
  withFault,
} from './provider.ts';
import {
  chatAfterToolPieces,
  chatMetadata,
  chatPieces,
  chatTokens,
  reasoningPieces,
} from './recordings.ts';
import { fragments, sampleOf } from './samples.ts';
import { json, type Script, sse } from './scripts.ts';

/** The model's content: the deltas of a stream, and the message that they add up to. */
interface Turn {
  readonly deltas: readonly JsonObject[];
  readonly message: JsonObject;
  readonly finishReason: string;
  readonly tokens: readonly [prompt: number, completion: number];
}

export function chatScript(body: JsonValue | undefined, context: ReplyContext): Script {
  const refusal = refuseBody(body, 'messages');
  if (refusal !== undefined) return refusal;

  const model = String(member(body, 'model'));
  const head = { id: counted('chatcmpl-', context), created: context.createdAtSeconds, model };
  const withUsage = member(member(body, 'stream_options'), 'include_usage') === true;
  const say = (turn: Turn, count: number): Script =>
    member(body, 'stream') === true
      ? streamed(turn, count, head, withUsage)
      : whole(turn, count, head);

  const faultReplies: FaultReplies = {
    error: openaiFailure,
    streamError: openaiStreamError,
    blocked: () => say(blockedTurn, 1),
    empty: () => say(textTurn(chatPieces, chatTokens.text), 0),
    slowMs: context.slowMs,
  };
  return withFault(model, say(turnFor(body, context), choiceCount(body)), faultReplies);
}

function choiceCount(body: JsonValue | undefined): number {
  const n = member(body, 'n');
  return typeof n === 'number' && Number.isInteger(n) && n >= 1 && n <= 128 ? n : 1;
}

function turnFor(body: JsonValue | undefined, context: ReplyContext): Turn {
  const turn = plainTurn(body, context);
  return String(member(body, 'model')).startsWith('deepseek') ? withReasoning(turn) : turn;
}

function plainTurn(body: JsonValue | undefined, context: ReplyContext): Turn {
  const agent = agentOf(String(member(body, 'model')));
  const messages = items(member(body, 'messages'));
  const rounds = currentTurn(messages).filter(hasCalls).length;
  if (endsWithResult(messages) && rounds >= agent.rounds) {
    return textTurn(chatAfterToolPieces, chatTokens.afterTool);
  }
  const tools = chosenTools(body).slice(0, agent.callsAtOnce ?? 1);
  if (tools.length > 0) {
    return toolTurn(tools.map((tool) => ({ tool, id: counted('call_', context) })));
  }

  const format = member(body, 'response_format');
  if (member(format, 'type') === 'json_schema') {
    const schema = member(member(format, 'json_schema'), 'schema');
    return textTurn(fragments(JSON.stringify(sampleOf(schema))), chatTokens.structured);
  }
  if (member(format, 'type') === 'json_object') {
    const schema = schemaInWords(items(member(body, 'messages')));
    const text =
      schema === undefined ? '{"greeting":"Hi there!"}' : JSON.stringify(sampleOf(schema));
    return textTurn(fragments(text), chatTokens.structured);
  }
  return textTurn(chatPieces, chatTokens.text);
}

/** The schema that a message asks for in words, as callers do where a mode has no schema. */
function schemaInWords(messages: readonly JsonValue[]): JsonValue | undefined {
  const texts = messages.map((message) => member(message, 'content'));
  const hint = texts.find((text) => typeof text === 'string' && text.includes(schemaWords));
  return typeof hint === 'string' ? parseJson(hint.split(schemaWords)[1] ?? '') : undefined;
}

const schemaWords = 'JSON Schema: ';

/** Adds reasoning before the content, as DeepSeek does. */
function withReasoning(turn: Turn): Turn {
  const [first = {}, ...rest] = turn.deltas;
  const reasoning = reasoningPieces.map((reasoning_content) => ({ reasoning_content }));
  return {
    ...turn,
    deltas: [{ role: 'assistant', content: null }, ...reasoning, first, ...rest],
    message: { ...turn.message, reasoning_content: reasoningPieces.join('') },
  };
}

/** The function that `tool_choice` names, else all functions; none if it is `none`. */
function chosenTools(body: JsonValue | undefined): readonly JsonValue[] {
  const choice = member(body, 'tool_choice');
  if (choice === 'none') return [];
  const functions = items(member(body, 'tools'))
    .map((tool) => member(tool, 'function') ?? null)
    .filter((tool) => typeof member(tool, 'name') === 'string');
  const forced = member(member(choice, 'function'), 'name');
  const chosen = functions.filter((tool) => member(tool, 'name') === forced);
  if (chosen.length > 0) return chosen;
  return member(body, 'parallel_tool_calls') === false ? functions.slice(0, 1) : functions;
}

function textTurn(pieces: readonly string[], tokens: Turn['tokens']): Turn {
  const message = { role: 'assistant', content: pieces.join(''), refusal: null, annotations: [] };
  return {
    deltas: [
      { role: 'assistant', content: '', refusal: null },
      ...pieces.map((content) => ({ content })),
    ],
    message,
    finishReason: 'stop',
    tokens,
  };
}

interface ToolCall {
  readonly tool: JsonValue;
  readonly id: string;
}

/** The arguments of calls are streamed in pieces, one call after the other. */
function toolTurn(calls: readonly ToolCall[]): Turn {
  const written = calls.map(({ tool }) =>
    JSON.stringify(sampleOf(member(tool, 'parameters') ?? { type: 'object' })),
  );
  const call = (index: number, text: string): JsonObject => ({
    id: calls[index]?.id ?? '',
    type: 'function',
    function: { name: member(calls[index]?.tool, 'name') ?? '', arguments: text },
  });
  const deltas = written.flatMap((text, index) => [
    { tool_calls: [{ index, ...call(index, '') }] },
    ...fragments(text).map((piece) => ({
      tool_calls: [{ index, function: { arguments: piece } }],
    })),
  ]);
  const [first, ...rest] = deltas;
  return {
    deltas: [{ role: 'assistant', content: null, ...first, refusal: null }, ...rest],
    message: {
      role: 'assistant',
      content: null,
      tool_calls: written.map((text, index) => call(index, text)),
      refusal: null,
      annotations: [],
    },
    finishReason: 'tool_calls',
    tokens: chatTokens.toolCall,
  };
}

const blockedTurn: Turn = { ...textTurn([], [12, 0]), finishReason: 'content_filter' };

function whole(turn: Turn, count: number, { id, ...head }: Head): Script {
  return json(200, {
    id,
    object: 'chat.completion',
    ...head,
    choices: indexes(count).map((index) => ({
      index,
      message: turn.message,
      logprobs: null,
      finish_reason: turn.finishReason,
    })),
    usage: usage(turn, count),
    ...chatMetadata,
  });
}

interface Head {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

/**
 * With `include_usage` every chunk has a `usage`, null until the last one, which has no choices.
 */
function streamed(turn: Turn, count: number, { id, ...head }: Head, withUsage: boolean): Script {
  const chunk = (choices: readonly JsonObject[], usageSoFar: JsonValue): JsonObject => ({
    id,
    object: 'chat.completion.chunk',
    ...head,
    ...chatMetadata,
    choices,
    ...(withUsage ? { usage: usageSoFar } : {}),
  });
  const choice = (index: number, delta: JsonObject, finishReason: string | null): JsonObject =>
    chunk([{ index, delta, logprobs: null, finish_reason: finishReason }], null);
  return sse([
    ...turn.deltas.flatMap((delta) => indexes(count).map((index) => choice(index, delta, null))),
    ...indexes(count).map((index) => choice(index, {}, turn.finishReason)),
    ...(withUsage ? [chunk([], usage(turn, count))] : []),
    '[DONE]',
  ]);
}

function usage({ tokens: [prompt, completion] }: Turn, count: number): JsonObject {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion * count,
    total_tokens: prompt + completion * count,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

function indexes(count: number): readonly number[] {
  return [...Array(count).keys()];
}

function endsWithResult(messages: readonly JsonValue[]): boolean {
  const role = member(messages.at(-1), 'role');
  return role === 'tool' || role === 'function' || isMediaOfResult(messages, messages.length - 1);
}

export function currentTurn(messages: readonly JsonValue[]): readonly JsonValue[] {
  const lastUserMessage = messages.findLastIndex(
    (message, index) => member(message, 'role') === 'user' && !isMediaOfResult(messages, index),
  );
  return messages.slice(lastUserMessage + 1);
}

/** A result can only have text, so its media are in a user message after it. */
function isMediaOfResult(messages: readonly JsonValue[], index: number): boolean {
  const parts = items(member(messages[index], 'content'));
  return (
    member(messages[index - 1], 'role') === 'tool' &&
    parts.length > 0 &&
    parts.every((part) => member(part, 'type') !== 'text')
  );
}

export function hasCalls(message: JsonValue): boolean {
  return items(member(message, 'tool_calls')).length > 0;
}
