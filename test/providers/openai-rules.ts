/**
 * The conversations that OpenAI refuses: results without calls, calls without results, and an
 * invalid `tool_choice`.
 */
import { items, type JsonValue, member } from '../../src/json.ts';
import type { RecordedCall } from '../../src/testing/providers/exchange.ts';
import { currentTurn, hasCalls } from '../../src/testing/providers/openai-chat.ts';
import { openaiError } from '../../src/testing/providers/provider.ts';
import { openaiHeaders } from '../../src/testing/providers/recordings.ts';
import type { Script } from '../../src/testing/providers/scripts.ts';

/** A refusal: its message and the member it is about. */
interface Refusal {
  readonly message: string;
  readonly param: string;
  readonly code?: string;
}

/** OpenAI's refusal of a chat request, or undefined. */
export function refusedByChat(call: RecordedCall): Script | undefined {
  const body = call.json();
  // Requests for models that only tests know are not validated, so that tests can send anything.
  const isStrict = /^(?:gpt|deepseek)|-agent-/.test(String(member(body, 'model')));
  const refusal = (isStrict ? refusedConversation(body) : undefined) ?? withoutMessages(body);
  if (refusal === undefined) return undefined;
  const { message, ...details } = refusal;
  return openaiError(400, message, details, openaiHeaders);
}

function withoutMessages(body: JsonValue | undefined): Refusal | undefined {
  const messages = member(body, 'messages');
  if (!Array.isArray(messages) || messages.length > 0) return undefined;
  const message =
    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty " +
    'array instead.';
  return { message, param: 'messages', code: 'empty_array' };
}

function refusedConversation(body: JsonValue | undefined): Refusal | undefined {
  const messages = items(member(body, 'messages'));
  return (
    wrongRole(messages) ??
    strayResult(messages) ??
    unansweredCall(messages) ??
    wrongChoice(body) ??
    optionsWithoutStream(body) ??
    missingReasoning(messages, String(member(body, 'model')))
  );
}

const roles: readonly JsonValue[] = [
  'system',
  'developer',
  'assistant',
  'user',
  'function',
  'tool',
];

function wrongRole(messages: readonly JsonValue[]): Refusal | undefined {
  const index = messages.findIndex((message) => !roles.includes(member(message, 'role') ?? null));
  if (index === -1) return undefined;
  const known = "'system', 'assistant', 'user', 'function', 'tool', and 'developer'";
  return {
    message: `Invalid value: '${member(messages[index], 'role')}'. Supported values are: ${known}.`,
    param: `messages[${index}].role`,
  };
}

function strayResult(messages: readonly JsonValue[]): Refusal | undefined {
  const index = messages.findIndex((message, position) => {
    if (member(message, 'role') !== 'tool') return false;
    const id = member(message, 'tool_call_id');
    return !callIds(callingMessage(messages, position)).includes(id ?? null);
  });
  if (index === -1) return undefined;
  return {
    message:
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message " +
      "with 'tool_calls'.",
    param: `messages.[${index}].role`,
  };
}

/** The message before the consecutive results at this position. */
function callingMessage(messages: readonly JsonValue[], position: number): JsonValue | undefined {
  return messages.slice(0, position).findLast((message) => member(message, 'role') !== 'tool');
}

function unansweredCall(messages: readonly JsonValue[]): Refusal | undefined {
  for (const [index, message] of messages.entries()) {
    const following = messages.slice(index + 1);
    const end = following.findIndex((one) => member(one, 'role') !== 'tool');
    const results = end === -1 ? following : following.slice(0, end);
    const answered = results.map((result) => member(result, 'tool_call_id'));
    const open = callIds(message).filter((id) => !answered.includes(id));
    if (open.length === 0) continue;
    return {
      message:
        "An assistant message with 'tool_calls' must be followed by tool messages responding to " +
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: " +
        open.join(', '),
      param: `messages.[${index + 1}].role`,
    };
  }
  return undefined;
}

function callIds(message: JsonValue | undefined): readonly JsonValue[] {
  return items(member(message, 'tool_calls')).map((call) => member(call, 'id') ?? null);
}

function wrongChoice(body: JsonValue | undefined): Refusal | undefined {
  const choice = member(body, 'tool_choice');
  if (choice === undefined || choice === null) return undefined;
  const param = 'tool_choice';
  const tools = items(member(body, 'tools'));
  if (tools.length === 0 && choice !== 'none') {
    const message =
      "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.";
    return { message, param };
  }
  if (typeof choice === 'string') {
    if (['none', 'auto', 'required'].includes(choice)) return undefined;
    const known = "'none', 'auto', and 'required'";
    return { message: `Invalid value: '${choice}'. Supported values are: ${known}.`, param };
  }
  const name = member(member(choice, 'function'), 'name');
  const isKnown = tools.some((tool) => member(member(tool, 'function'), 'name') === name);
  if (name === undefined || isKnown) return undefined;
  return { message: `Tool choice '${name}' not found in 'tools' parameter.`, param };
}

function optionsWithoutStream(body: JsonValue | undefined): Refusal | undefined {
  if (member(body, 'stream') === true || (member(body, 'stream_options') ?? null) === null) {
    return undefined;
  }
  const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
  return { message, param: 'stream_options' };
}

/** DeepSeek requires the reasoning that led to its calls to be sent back. */
function missingReasoning(messages: readonly JsonValue[], model: string): Refusal | undefined {
  if (!model.startsWith('deepseek')) return undefined;
  const isMissing = currentTurn(messages).some(
    (message) => hasCalls(message) && (member(message, 'reasoning_content') ?? '') === '',
  );
  if (!isMissing) return undefined;
  return {
    message: 'The `reasoning_content` in the thinking mode must be passed back to the API.',
    param: 'messages',
  };
}
