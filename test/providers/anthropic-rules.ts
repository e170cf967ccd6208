/**
 * The requests that Anthropic refuses: wrong headers, unknown members, calls without results, empty
 * blocks, and what the rules for tools and thinking say.
 */
import { isJsonObject, items, type JsonValue, member } from '../../src/json.ts';
import { type Message, messagesOf, ofType } from '../../src/testing/providers/anthropic.ts';
import { anthropicError, anthropicHeaders } from '../../src/testing/providers/anthropic-replies.ts';
import type { RecordedCall } from '../../src/testing/providers/exchange.ts';
import type { Script } from '../../src/testing/providers/scripts.ts';
import { refusedHeaders } from './anthropic-headers.ts';
import { refusedThinking } from './anthropic-thinking.ts';
import { refusedTools } from './anthropic-tools.ts';

/** Anthropic's refusal of a request for a message or for a count of tokens, or undefined. */
export function refusedByAnthropic(call: RecordedCall): Script | undefined {
  const body = call.json();
  const counts = call.path.split('?', 1)[0] === '/v1/messages/count_tokens';
  const message =
    refusedHeaders(call.headers, body) ??
    refusedConversation(body, counts ? countedMembers : messageMembers);
  return message === undefined
    ? undefined
    : anthropicError(400, 'invalid_request_error', message, anthropicHeaders);
}

function refusedConversation(
  body: JsonValue | undefined,
  known: ReadonlySet<string>,
): string | undefined {
  const messages = messagesOf(body);
  return (
    unknownMember(body, known) ??
    refusedTools(body) ??
    wrongRole(messages) ??
    emptyBlock(messages, member(body, 'system')) ??
    unansweredCall(messages) ??
    refusedThinking(body, messages) ??
    openSchema(body)
  );
}

/** The members that change a prompt, and so its number of tokens. */
const countedMembers: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'cache_control',
  'context_management',
  'mcp_servers',
  'speed',
]);

/** The members of a request for a message. */
const messageMembers: ReadonlySet<string> = new Set([
  ...countedMembers,
  'max_tokens',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'metadata',
  'service_tier',
  'container',
  'inference_geo',
]);

function unknownMember(
  body: JsonValue | undefined,
  known: ReadonlySet<string>,
): string | undefined {
  const names = isJsonObject(body) ? Object.keys(body) : [];
  const unknown = names.find((name) => !known.has(name));
  return unknown === undefined ? undefined : `${unknown}: Extra inputs are not permitted`;
}

/** A system message must follow a user message, and precede an assistant's or be the last. */
function wrongRole(messages: readonly Message[]): string | undefined {
  for (const [index, { role, at }] of messages.entries()) {
    if (role !== 'user' && role !== 'assistant' && role !== 'system') {
      return `${at}.role: Input should be 'user' or 'assistant'`;
    }
    if (index === 0 && role !== 'user') return 'messages: first message must use the "user" role';
    const before = messages[index - 1]?.role;
    const after = messages[index + 1]?.role;
    if (role === 'system' && (before !== 'user' || after === 'user')) {
      return `${at}.role: a system message must follow a user message`;
    }
  }
  return undefined;
}

function emptyBlock(
  messages: readonly Message[],
  system: JsonValue | undefined,
): string | undefined {
  if (items(system).some(isBlank)) return 'system: text content blocks must be non-empty';
  for (const [index, { role, blocks, at }] of messages.entries()) {
    const isPrefill = role === 'assistant' && index === messages.length - 1;
    if (blocks.length === 0 && !isPrefill) {
      return (
        `${at}: all messages must have non-empty content except for the optional final ` +
        'assistant message'
      );
    }
    const results = ofType(blocks, 'tool_result').flatMap((block) =>
      items(member(block, 'content')),
    );
    if ([...blocks, ...results].some(isBlank)) {
      return 'messages: text content blocks must contain non-whitespace text';
    }
    const end = member(blocks.at(-1), 'text');
    if (isPrefill && typeof end === 'string' && end !== end.trimEnd()) {
      return 'messages: final assistant content cannot end with trailing whitespace';
    }
  }
  return undefined;
}

function isBlank(block: JsonValue): boolean {
  return member(block, 'type') === 'text' && String(member(block, 'text') ?? '').trim() === '';
}

function unansweredCall(messages: readonly Message[]): string | undefined {
  const seen = new Set<string>();
  for (const [index, { blocks, at }] of messages.entries()) {
    const calls = ofType(blocks, 'tool_use').map((block) => String(member(block, 'id')));
    const invalid = calls.find((id) => !/^[a-zA-Z0-9_-]+$/.test(id));
    if (invalid !== undefined) {
      return `${at}.content: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`;
    }
    const isRepeated = calls.some((id, position) => seen.has(id) || calls.indexOf(id) < position);
    if (isRepeated) return 'messages: `tool_use` ids must be unique';
    for (const id of calls) seen.add(id);

    const next = messages[index + 1]?.blocks ?? [];
    const answered = leadingResults(next);
    const open = calls.filter((id) => !answered.includes(id));
    if (open.length > 0) {
      return (
        `${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
        `${open.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` ` +
        'block in the next message.'
      );
    }
    const previousCalls = ofType(messages[index - 1]?.blocks ?? [], 'tool_use');
    const stray = ofType(blocks, 'tool_result').find(
      (result) =>
        !previousCalls.some((call) => member(call, 'id') === member(result, 'tool_use_id')),
    );
    if (stray !== undefined) {
      return (
        `${at}.content: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ` +
        `${member(stray, 'tool_use_id')}. Each \`tool_result\` block must have a corresponding ` +
        '`tool_use` block in the previous message.'
      );
    }
  }
  return undefined;
}

/** Results count only at the beginning of a message. */
function leadingResults(blocks: readonly JsonValue[]): readonly string[] {
  const end = blocks.findIndex((block) => member(block, 'type') !== 'tool_result');
  return blocks
    .slice(0, end === -1 ? undefined : end)
    .map((block) => String(member(block, 'tool_use_id')));
}

/** A schema for structured output has to close every object. */
function openSchema(body: JsonValue | undefined): string | undefined {
  const format = member(member(body, 'output_config'), 'format') ?? member(body, 'output_format');
  if (isClosed(member(format, 'schema') ?? null)) return undefined;
  return (
    "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly " +
    'set to false'
  );
}

function isClosed(schema: JsonValue): boolean {
  if (Array.isArray(schema)) return items(schema).every(isClosed);
  if (!isJsonObject(schema)) return true;
  const isOpen =
    member(schema, 'type') === 'object' && member(schema, 'additionalProperties') !== false;
  return !isOpen && Object.values(schema).every(isClosed);
}
