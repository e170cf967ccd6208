/** `POST /v1/chat/completions` as OpenAI answers it: one turn, spoken whole or as a stream. */
import { items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { type Voice, withFault } from './faults.ts';
import { openaiError, openaiFailure, openaiStreamError, refuseBody } from './openai-errors.ts';
import { counted, type World } from './provider.ts';
import { chatAfterToolPieces, chatMarks, chatPieces, chatTokens } from './recordings.ts';
import { sampleOf } from './schema-sample.ts';
import { json, type Script, sse } from './scripts.ts';

/** What the model says: the deltas of a stream, and the message they add up to. */
interface Turn {
  readonly deltas: readonly JsonObject[];
  readonly message: JsonObject;
  readonly finishReason: string;
  readonly tokens: readonly [prompt: number, completion: number];
}

/** The answer to a chat request, its model's fault included. */
export function chatScript(body: JsonValue | undefined, world: World): Script {
  const refusal = refuseBody(body) ?? refuseMessages(body);
  if (refusal !== undefined) return refusal;

  const model = String(member(body, 'model'));
  const head = { id: counted('chatcmpl-', world), created: world.createdAtSeconds, model };
  const say = (turn: Turn, count: number): Script =>
    member(body, 'stream') === true
      ? streamed(turn, count, head, wantsUsage(body))
      : whole(turn, count, head);

  const voice: Voice = {
    error: openaiFailure,
    streamError: openaiStreamError,
    blocked: () => say(blockedTurn, 1),
    empty: () => say(textTurn(chatPieces, chatTokens.text), 0),
    slowMs: world.slowMs,
  };
  return withFault(model, say(turnFor(body, world), choiceCount(body)), voice);
}

function refuseMessages(body: JsonValue | undefined): Script | undefined {
  const messages = member(body, 'messages');
  if (!Array.isArray(messages)) {
    const message = "Missing required parameter: 'messages'.";
    return openaiError(400, message, { param: 'messages', code: 'missing_required_parameter' });
  }
  if (messages.length > 0) return undefined;
  return openaiError(
    400,
    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty " +
      'array instead.',
    { param: 'messages', code: 'empty_array' },
  );
}

function wantsUsage(body: JsonValue | undefined): boolean {
  return member(member(body, 'stream_options'), 'include_usage') === true;
}

function choiceCount(body: JsonValue | undefined): number {
  const n = member(body, 'n');
  return typeof n === 'number' && Number.isInteger(n) && n >= 1 && n <= 128 ? n : 1;
}

function turnFor(body: JsonValue | undefined, world: World): Turn {
  const role = member(items(member(body, 'messages')).at(-1), 'role');
  if (role === 'tool' || role === 'function') {
    return textTurn(chatAfterToolPieces, chatTokens.afterTool);
  }
  const tool = chosenTool(body);
  if (tool !== undefined) return toolTurn(tool, counted('call_', world));

  const format = member(body, 'response_format');
  if (member(format, 'type') === 'json_schema') {
    const schema = member(member(format, 'json_schema'), 'schema');
    return textTurn(fragments(JSON.stringify(sampleOf(schema))), chatTokens.structured);
  }
  if (member(format, 'type') === 'json_object') {
    return textTurn(fragments('{"greeting":"Hi there!"}'), chatTokens.structured);
  }
  return textTurn(chatPieces, chatTokens.text);
}

/** The function the request forces, or the first it offers; none where it forbids them. */
function chosenTool(body: JsonValue | undefined): JsonValue | undefined {
  const choice = member(body, 'tool_choice');
  if (choice === 'none') return undefined;
  const functions = items(member(body, 'tools'))
    .map((tool) => member(tool, 'function'))
    .filter((tool) => typeof member(tool, 'name') === 'string');
  const forced = member(member(choice, 'function'), 'name');
  return functions.find((tool) => member(tool, 'name') === forced) ?? functions[0];
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

function toolTurn(tool: JsonValue, id: string): Turn {
  const name = member(tool, 'name') ?? '';
  const written = JSON.stringify(sampleOf(member(tool, 'parameters') ?? { type: 'object' }));
  const call = (text: string): JsonObject => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  });
  return {
    deltas: [
      { role: 'assistant', content: null, tool_calls: [{ index: 0, ...call('') }], refusal: null },
      ...fragments(written).map((text) => ({
        tool_calls: [{ index: 0, function: { arguments: text } }],
      })),
    ],
    message: {
      role: 'assistant',
      content: null,
      tool_calls: [call(written)],
      refusal: null,
      annotations: [],
    },
    finishReason: 'tool_calls',
    tokens: chatTokens.toolCall,
  };
}

const blockedTurn: Turn = { ...textTurn([], [12, 0]), finishReason: 'content_filter' };

/** Pieces of a few characters, as a model writes JSON. */
function fragments(text: string): readonly string[] {
  return text.match(/.{1,6}/gsu) ?? [];
}

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
    ...chatMarks,
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
  const chunk = (choices: readonly JsonObject[], figures: JsonValue): JsonObject => ({
    id,
    object: 'chat.completion.chunk',
    ...head,
    ...chatMarks,
    choices,
    ...(withUsage ? { usage: figures } : {}),
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
