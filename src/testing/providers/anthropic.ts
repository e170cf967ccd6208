/** Anthropic: its paths, its authentication, and its messages: one turn, whole or as a stream. */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import {
  anthropicError,
  anthropicFailure,
  anthropicHeaders,
  anthropicStreamError,
  claudeAfterToolPieces,
  claudePieces,
  claudeSignature,
  claudeTokens,
  refusalDetails,
  refuseBody,
  thinkingPieces,
} from './anthropic-replies.ts';
import {
  agentOf,
  counted,
  type FaultReplies,
  type Provider,
  type ProviderRequest,
  type ReplyContext,
  signatureOf,
  withFault,
} from './provider.ts';
import { fragments, sampleOf } from './samples.ts';
import { json, type Script, withHeaders } from './scripts.ts';

const messagesPath = '/v1/messages';

/** Owns `/v1/messages` and everything below it; the other paths of `/v1` are OpenAI's. */
export const anthropic: Provider = {
  owns: (path) => path === messagesPath || path.startsWith(`${messagesPath}/`),
  refuseKey: ({ headers }, apiKey) => {
    const key = headers['x-api-key'];
    if (key === apiKey) return undefined;
    const message = key === undefined ? 'x-api-key header is required' : 'invalid x-api-key';
    return anthropicError(401, 'authentication_error', message);
  },
  reply: (request, context) => withHeaders(route(request, context), anthropicHeaders),
};

function route(request: ProviderRequest, context: ReplyContext): Script {
  const { method, path, body } = request;
  const counts = path === `${messagesPath}/count_tokens`;
  if (path !== messagesPath && !counts) return anthropicError(404, 'not_found_error', 'Not Found');
  if (method !== 'POST') {
    return anthropicError(405, 'invalid_request_error', 'Method Not Allowed', { allow: 'POST' });
  }
  if (!counts) return messageScript(body, context);
  return refuseBody(body, 'model', 'messages') ?? json(200, { input_tokens: countOf(body) });
}

/** A quarter of the bytes, so that a longer prompt counts more. */
function countOf(body: JsonValue | undefined): number {
  const { messages, system, tools }: Readonly<Record<string, JsonValue>> = isJsonObject(body)
    ? body
    : {};
  return Math.ceil(Buffer.byteLength(JSON.stringify([system, tools, messages])) / 4);
}

interface Turn {
  readonly blocks: readonly Block[];
  readonly stopReason: 'end_turn' | 'tool_use' | 'refusal' | 'max_tokens' | 'stop_sequence';
  readonly stopSequence?: string;
  readonly stopDetails?: JsonObject;
  readonly tokens: readonly [input: number, output: number];
}

function messageScript(body: JsonValue | undefined, context: ReplyContext): Script {
  const refusal = refuseBody(body, 'model', 'max_tokens', 'messages');
  if (refusal !== undefined) return refusal;

  const model = String(member(body, 'model'));
  const head = { model, id: counted('msg_', context), type: 'message', role: 'assistant' };
  const cache = cacheUsage(body);
  const say = (turn: Turn): Script =>
    member(body, 'stream') === true ? streamed(turn, head, cache) : whole(turn, head, cache);

  const faultReplies: FaultReplies = {
    error: anthropicFailure,
    streamError: anthropicStreamError,
    blocked: () => say(refusedTurn),
    empty: () => say({ blocks: [], stopReason: 'end_turn', tokens: [12, 0] }),
    slowMs: context.slowMs,
  };
  return withFault(model, say(turnFor(body, context)), faultReplies);
}

const refusedTurn: Turn = {
  blocks: [],
  stopReason: 'refusal',
  stopDetails: refusalDetails,
  tokens: claudeTokens.refused,
};

function turnFor(body: JsonValue | undefined, context: ReplyContext): Turn {
  const agent = agentOf(String(member(body, 'model')));
  const made = roundsMade(body);
  const thinking = thinkingBlocks(body, made);
  if (made >= agent.rounds) {
    const before = agent.signsEachRound ? thinking : [];
    return limited(textTurn(claudeAfterToolPieces, claudeTokens.afterTool, before), body);
  }
  const calls = chosenTools(body).map((tool) => toolBlock(tool, counted('toolu_', context)));
  if (calls.length > 0) {
    return {
      blocks: [...thinking, ...calls],
      stopReason: 'tool_use',
      tokens: claudeTokens.toolUse,
    };
  }
  const format = member(member(body, 'output_config'), 'format') ?? member(body, 'output_format');
  if (member(format, 'type') === 'json_schema') {
    const written = JSON.stringify(sampleOf(member(format, 'schema')));
    return textTurn(fragments(written), claudeTokens.structured, thinking);
  }
  const tokens = thinking.length > 0 ? claudeTokens.thinking : claudeTokens.text;
  return limited(textTurn(claudePieces, tokens, thinking), body);
}

/**
 * The tool that `tool_choice` names, or the first two tools if it allows parallel calls. Tools that
 * Anthropic runs itself have no schema and are skipped.
 */
function chosenTools(body: JsonValue | undefined): readonly JsonValue[] {
  const choice = member(body, 'tool_choice');
  if (member(choice, 'type') === 'none') return [];
  const tools = items(member(body, 'tools')).filter(
    (tool) => member(tool, 'input_schema') !== undefined,
  );
  const forced = member(choice, 'name');
  if (forced !== undefined) return tools.filter((tool) => member(tool, 'name') === forced);
  return tools.slice(0, member(choice, 'disable_parallel_tool_use') === true ? 1 : 2);
}

function textTurn(
  pieces: readonly string[],
  tokens: Turn['tokens'],
  before: readonly Block[] = [],
): Turn {
  const block: Block = {
    whole: { type: 'text', text: pieces.join('') },
    start: { type: 'text', text: '' },
    deltas: pieces.map((text) => ({ type: 'text_delta', text })),
  };
  return { blocks: [...before, block], stopReason: 'end_turn', tokens };
}

/** Every piece of text counts as one token of the limit. */
function limited(turn: Turn, body: JsonValue | undefined): Turn {
  const pieces = turn.blocks.at(-1)?.deltas.map((delta) => String(member(delta, 'text'))) ?? [];
  const text = pieces.join('');
  const before = turn.blocks.slice(0, -1);
  const [stop] = items(member(body, 'stop_sequences'))
    .map(String)
    .filter((sequence) => text.includes(sequence))
    .toSorted((one, other) => text.indexOf(one) - text.indexOf(other));
  if (stop !== undefined) {
    const shorter = textTurn([text.slice(0, text.indexOf(stop))], turn.tokens, before);
    return { ...shorter, stopReason: 'stop_sequence', stopSequence: stop };
  }
  const limit = Number(member(body, 'max_tokens'));
  if (limit >= pieces.length) return turn;
  const [input] = turn.tokens;
  const cut = textTurn(pieces.slice(0, limit), [input, limit], before);
  return { ...cut, stopReason: 'max_tokens' };
}

/** A stream begins a call with an empty object and an empty JSON delta. */
function toolBlock(tool: JsonValue, id: string): Block {
  const input = sampleOf(member(tool, 'input_schema'));
  const call = { type: 'tool_use', id, name: member(tool, 'name') ?? '' };
  return {
    whole: { ...call, input },
    start: { ...call, input: {} },
    deltas: ['', ...fragments(JSON.stringify(input))].map((text) => ({
      type: 'input_json_delta',
      partial_json: text,
    })),
  };
}

function whole(turn: Turn, head: JsonObject, cache: CacheUsage): Script {
  const [input, output] = turn.tokens;
  return json(200, {
    ...head,
    content: turn.blocks.map((block) => block.whole),
    ...endOf(turn),
    usage: { input_tokens: input, ...cache.first, output_tokens: output },
  });
}

/** The first event reports one output token, the last event all of them. */
function streamed(turn: Turn, head: JsonObject, cache: CacheUsage): Script {
  const [input, output] = turn.tokens;
  const before = { stop_reason: null, stop_sequence: null };
  const first = { input_tokens: input, ...cache.first, output_tokens: 1 };
  const last = { input_tokens: input, ...cache.last, output_tokens: output };
  const [opening, ...rest] = turn.blocks.flatMap(blockEvents);
  const events: readonly JsonObject[] = [
    { type: 'message_start', message: { ...head, content: [], ...before, usage: first } },
    ...(opening === undefined ? [] : [opening]),
    { type: 'ping' },
    ...rest,
    { type: 'message_delta', delta: endOf(turn), usage: last },
    { type: 'message_stop' },
  ];
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    chunks: events.map(frameOf),
  };
}

/** Like the real events, most are padded with spaces before their last brace. */
function frameOf(event: JsonObject, index: number): string {
  const padding = ' '.repeat((index * 7) % 16);
  const data = `${JSON.stringify(event).slice(0, -1)}${padding}}`;
  return `event: ${String(member(event, 'type'))}\ndata: ${data}\n\n`;
}

function blockEvents({ start, deltas }: Block, index: number): readonly JsonObject[] {
  return [
    { type: 'content_block_start', index, content_block: start },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

function endOf({ stopReason, stopDetails, stopSequence }: Turn): JsonObject {
  return {
    stop_reason: stopReason,
    ...(stopDetails === undefined ? {} : { stop_details: stopDetails }),
    stop_sequence: stopSequence ?? null,
  };
}

/**
 * The other members of `usage`: those of a whole reply or of the first event of a stream, and those
 * of the last event.
 */
interface CacheUsage {
  readonly first: JsonObject;
  readonly last: JsonObject;
}

/** How many tokens are written to the cache, and read from it later, as in a recorded pair. */
const cachedTokens = 7351;

/**
 * With a cache marker, the first call of a conversation writes to the cache and later ones read
 * from it.
 */
function cacheUsage(body: JsonValue | undefined): CacheUsage {
  const text = JSON.stringify(body ?? null);
  const isMarked = text.includes('"cache_control":{');
  const isLater = items(member(body, 'messages')).some(
    (message) => member(message, 'role') === 'assistant',
  );
  const written = isMarked && !isLater ? cachedTokens : 0;
  const isLong = text.includes('"ttl":"1h"');
  const last = {
    cache_creation_input_tokens: written,
    cache_read_input_tokens: isMarked && isLater ? cachedTokens : 0,
  };
  const first = {
    ...last,
    cache_creation: {
      ephemeral_5m_input_tokens: isLong ? 0 : written,
      ephemeral_1h_input_tokens: isLong ? written : 0,
    },
    service_tier: 'standard',
    inference_geo: 'not_available',
  };
  return { first, last };
}

interface Block {
  readonly whole: JsonObject;
  readonly start: JsonObject;
  readonly deltas: readonly JsonObject[];
}

export interface Message {
  readonly role: JsonValue | undefined;
  /** A string counts as one block of text. */
  readonly blocks: readonly JsonValue[];
  /** Its path, as errors name it: `messages.2`. */
  readonly at: string;
}

/** The messages of a request; consecutive ones of one role count as one. */
export function messagesOf(body: JsonValue | undefined): readonly Message[] {
  const merged: { role: JsonValue | undefined; blocks: JsonValue[]; at: string }[] = [];
  for (const [index, message] of items(member(body, 'messages')).entries()) {
    const role = member(message, 'role');
    const content = member(message, 'content');
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : items(content);
    const last = merged.at(-1);
    if (last !== undefined && last.role === role) last.blocks.push(...blocks);
    else merged.push({ role, blocks: [...blocks], at: `messages.${index}` });
  }
  return merged;
}

/** The messages after the user's last text; tool results don't count as text. */
export function currentTurn(messages: readonly Message[]): readonly Message[] {
  const lastText = messages.findLastIndex(
    ({ role, blocks }) => role === 'user' && ofType(blocks, 'tool_result').length < blocks.length,
  );
  return messages.slice(lastText + 1);
}

function roundsMade(body: JsonValue | undefined): number {
  return currentTurn(messagesOf(body)).filter(({ blocks }) => ofType(blocks, 'tool_use').length > 0)
    .length;
}

export function ofType(
  blocks: readonly JsonValue[],
  ...types: readonly string[]
): readonly JsonValue[] {
  return blocks.filter((block) => types.includes(String(member(block, 'type'))));
}

export function isThinking(body: JsonValue | undefined): boolean {
  const type = member(member(body, 'thinking'), 'type');
  return type === 'enabled' || type === 'adaptive';
}

/**
 * The thinking of a round, counted from 0: the recorded one, or an agent's, which differs in each
 * round and has its own signature. It is empty but signed where the request omits its display.
 */
function thinkingBlocks(body: JsonValue | undefined, round: number): readonly Block[] {
  if (!isThinking(body)) return [];
  const model = String(member(body, 'model'));
  const isAgent = agentOf(model).signsEachRound;
  const pieces = isAgent ? [...thinkingPieces, ` Round ${round + 1}.`] : thinkingPieces;
  const signature = isAgent ? signatureOfRound(round) : claudeSignature;
  const shown = member(member(body, 'thinking'), 'display') === 'omitted' ? [] : pieces;
  const block: Block = {
    whole: { type: 'thinking', thinking: shown.join(''), signature },
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...shown.map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature },
    ],
  };
  return redacts(model) ? [redactedBlock(round), block] : [block];
}

function redactedBlock(round: number): Block {
  const whole: JsonObject = { type: 'redacted_thinking', data: redactedDataOf(round) };
  return { whole, start: whole, deltas: [] };
}

/** Whether a model also thinks in encrypted blocks. */
export function redacts(model: string): boolean {
  return model.includes('-redacted-');
}

export function redactedDataOf(round: number): string {
  return signatureOf(`redacted ${round}`);
}

export function signatureOfRound(round: number): string {
  return signatureOf(`${thinkingPieces.join('')} Round ${round + 1}.`);
}
