/**
 * The conversations that Anthropic refuses: calls without results, empty blocks, changed thinking,
 * and unknown members.
 */
import { isJsonObject, items, type JsonValue, member } from '../../json.ts';
import { signatureOf } from './agent.ts';
import { claudeSignature, thinkingPieces } from './anthropic-recordings.ts';

interface Message {
  readonly role: JsonValue | undefined;
  /** A string counts as one block of text. */
  readonly blocks: readonly JsonValue[];
  readonly at: string;
}

/** The message with which Anthropic refuses the conversation, or undefined. */
export function refusedConversation(body: JsonValue | undefined): string | undefined {
  const messages = messagesOf(body);
  return (
    unknownMember(body) ??
    wrongRole(messages) ??
    emptyBlock(messages, member(body, 'system')) ??
    unansweredCall(messages) ??
    changedThinking(messages) ??
    wrongBudget(body, messages) ??
    openSchema(body)
  );
}

/** How many rounds of calls were made since the last user message. */
export function roundsMade(body: JsonValue | undefined): number {
  return currentTurn(messagesOf(body)).filter(({ blocks }) => ofType(blocks, 'tool_use').length > 0)
    .length;
}

function messagesOf(body: JsonValue | undefined): readonly Message[] {
  const merged: { role: JsonValue | undefined; blocks: JsonValue[]; at: string }[] = [];
  for (const [index, message] of items(member(body, 'messages')).entries()) {
    const role = member(message, 'role');
    const content = member(message, 'content');
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : items(content);
    const last = merged.at(-1);
    // Consecutive messages of one role count as one.
    if (last !== undefined && last.role === role) last.blocks.push(...blocks);
    else merged.push({ role, blocks: [...blocks], at: `messages.${index}` });
  }
  return merged;
}

/** The messages after the user's last text; tool results don't count as text. */
function currentTurn(messages: readonly Message[]): readonly Message[] {
  const lastText = messages.findLastIndex(
    ({ role, blocks }) => role === 'user' && ofType(blocks, 'tool_result').length < blocks.length,
  );
  return messages.slice(lastText + 1);
}

const knownMembers: ReadonlySet<string> = new Set([
  'model',
  'max_tokens',
  'messages',
  'system',
  'stream',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'metadata',
  'service_tier',
  'cache_control',
  'container',
  'context_management',
  'mcp_servers',
  'inference_geo',
  'speed',
]);

function unknownMember(body: JsonValue | undefined): string | undefined {
  const names = isJsonObject(body) ? Object.keys(body) : [];
  const unknown = names.find((name) => !knownMembers.has(name));
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

/** All thinking since the user's last text must be sent back unchanged. */
function changedThinking(messages: readonly Message[]): string | undefined {
  for (const { blocks, at } of currentTurn(messages)) {
    const changed = blocks.findIndex(
      (block) => member(block, 'type') === 'thinking' && !isUnchanged(block),
    );
    if (changed !== -1) {
      return `${at}.content.${changed}: Invalid \`signature\` in \`thinking\` block`;
    }
  }
  return undefined;
}

function isUnchanged(block: JsonValue): boolean {
  const thinking = String(member(block, 'thinking'));
  const signature = member(block, 'signature');
  if (signature === claudeSignature) return thinking === thinkingPieces.join('');
  return signature === signatureOf(thinking);
}

function wrongBudget(
  body: JsonValue | undefined,
  messages: readonly Message[],
): string | undefined {
  const thinking = member(body, 'thinking');
  if (member(thinking, 'type') !== 'enabled') return undefined;
  const budget = Number(member(thinking, 'budget_tokens'));
  if (!(budget >= 1024)) {
    return 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024';
  }
  if (budget >= Number(member(body, 'max_tokens') ?? Number.POSITIVE_INFINITY)) {
    return '`max_tokens` must be greater than `thinking.budget_tokens`.';
  }
  const [first] = currentTurn(messages).filter(({ role }) => role === 'assistant');
  const type = member(first?.blocks[0], 'type');
  if (first === undefined || type === 'thinking' || type === 'redacted_thinking') return undefined;
  return (
    `${first.at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found ` +
    `\`${type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a ` +
    'thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).'
  );
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

function ofType(blocks: readonly JsonValue[], type: string): readonly JsonValue[] {
  return blocks.filter((block) => member(block, 'type') === type);
}
