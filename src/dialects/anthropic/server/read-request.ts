/**
 * Reads a Messages request into the common form. Members that the form cannot express are listed as
 * dropped, by the caller's names.
 */
import { hashOf } from '../../../canonical/call-ids.ts';
import {
  type ContentRequest,
  chatNames,
  type OutputFormat,
  type Reasoning,
  type RequestField,
} from '../../../canonical/request.ts';
import { items, type JsonObject, member } from '../../../json.ts';
import { type ReasoningEffort, reasoningEfforts } from '../../../ports/models/capabilities.ts';
import type { RequestedReply } from '../../codec.ts';
import { notPortable } from '../../not-portable.ts';
import {
  effortIn,
  integerIn,
  isList,
  numberIn,
  objectIn,
  presentMember,
  refuse,
  requiredObject,
  textIn,
} from '../../read-members.ts';
import { type ReplyContext, thinkingDisplay } from './exchange.ts';
import { readConversation } from './read-messages.ts';
import { eagerTools, readTools } from './read-tools.ts';
import { unreadMembers } from './unread-members.ts';

export interface ReadRequest {
  readonly request: ContentRequest;
  readonly unasked: ReadonlySet<string>;
  readonly context: ReplyContext;
}

export function readRequest(body: JsonObject, requested: RequestedReply): ReadRequest {
  refuseUnsupported(body);
  const dropped = new Set<string>(unreadMembers(body));
  const drop = (at: string): void => void dropped.add(at);
  const conversation = readConversation(body, { drop, rawJson: requested.rawJson });
  const { reasoning, name: reasoningName } = readReasoning(body, drop);
  const { format, name: formatName } = readFormat(body, drop);
  const { tools, toolChoice, parallelToolCalls } = readTools(body, drop);
  const { endUserId, promptCacheKey } = readUser(body, requested);
  const request: ContentRequest = {
    system: conversation.system,
    turns: conversation.turns,
    tools,
    toolChoice,
    parallelToolCalls,
    format,
    maxOutputTokens: readMaxTokens(body),
    temperature: unlessUnset(numberIn(body, 'temperature', '')),
    topP: unlessUnset(numberIn(body, 'top_p', '')),
    topK: unlessUnset(integerIn(body, 'top_k', '')),
    // This API has no such settings.
    presencePenalty: undefined,
    frequencyPenalty: undefined,
    seed: undefined,
    stop: readStop(body),
    candidates: 1,
    logprobs: undefined,
    reasoning,
    modalities: undefined,
    endUserId,
    serviceTier: readServiceTier(body),
    promptCacheKey,
    streamed: requested.streamed,
    providerMembers: [],
    names: { ...fixedNames, format: formatName, reasoning: reasoningName },
    dropped: [...dropped],
  };
  return {
    request,
    unasked: unaskedMembers(request, conversation.attributions),
    context: {
      thinking: thinkingDisplay(objectIn(body, 'thinking', '')),
      eagerTools: eagerTools(body),
    },
  };
}

/** Agents send these in every request; they tune how a request is run and change no reply. */
function unaskedMembers(
  { dropped, names }: ContentRequest,
  attributions: readonly string[],
): ReadonlySet<string> {
  const metadata = dropped.filter((name) => name.startsWith('metadata.'));
  return new Set([...alwaysUnasked, names.endUserId, ...metadata, ...attributions]);
}

const alwaysUnasked = [
  'cache_control',
  'context_management.edits',
  'tool_choice.disable_parallel_tool_use',
] as const;

/** Absent from requests for a count. */
function readMaxTokens(body: JsonObject): number | undefined {
  const maxTokens = integerIn(body, 'max_tokens', '');
  if (maxTokens !== undefined && maxTokens < 1) refuse('max_tokens', 'must be at least 1.');
  return maxTokens;
}

/** `@langchain/anthropic` 0.3 sends −1 for settings that nobody made. */
function unlessUnset(value: number | undefined): number | undefined {
  return value === -1 ? undefined : value;
}

function readStop(body: JsonObject): readonly string[] {
  const stop = presentMember(body, 'stop_sequences') ?? [];
  if (!isList(stop)) return refuse('stop_sequences', 'must be an array of strings.');
  return stop.map((text, index) =>
    typeof text === 'string' ? text : refuse(`stop_sequences[${index}]`, 'must be a string.'),
  );
}

/** OpenAI calls the tier without a commitment `default`. */
function readServiceTier(body: JsonObject): string | undefined {
  const tier = textIn(body, 'service_tier', '');
  return tier === 'standard_only' ? 'default' : tier;
}

/** OpenAI refuses longer ids. */
const maxUserIdLength = 64;
const cacheKeyLength = 32;

/** Calls of one session, or else of one user, begin alike, so they share a cache. */
function readUser(
  body: JsonObject,
  { session }: RequestedReply,
): Pick<ContentRequest, 'endUserId' | 'promptCacheKey'> {
  const metadata = objectIn(body, 'metadata', '') ?? {};
  const userId = textIn(metadata, 'user_id', 'metadata') || undefined;
  const isLong = userId !== undefined && userId.length > maxUserIdLength;
  const shared = session ?? userId;
  return {
    endUserId: isLong ? hashOf(userId) : userId,
    promptCacheKey: shared === undefined ? undefined : hashOf(shared).slice(0, cacheKeyLength),
  };
}

const fixedNames: Readonly<Record<RequestField, string>> = {
  ...chatNames,
  parallelToolCalls: 'tool_choice.disable_parallel_tool_use',
  format: 'output_config.format',
  maxOutputTokens: 'max_tokens',
  stop: 'stop_sequences',
  reasoning: 'thinking',
  endUserId: 'metadata.user_id',
  system: 'system',
};

function refuseUnsupported(body: JsonObject): void {
  if (integerIn(body, 'max_tokens', '') === 0) {
    throw notPortable(
      'max_tokens',
      'This model cannot fill its cache without a reply. Send 1 or more.',
    );
  }
  if (member(presentMember(body, 'thread'), 'type') === 'continue') {
    throw notPortable('thread', 'This model keeps no conversations. Send the whole history.');
  }
  if (presentMember(body, 'container') !== undefined) {
    throw notPortable('container', 'This model has no containers. Leave it out.');
  }
  if (items(presentMember(body, 'mcp_servers')).length > 0) {
    throw notPortable(
      'mcp_servers',
      'This model calls no MCP servers. Offer their tools as functions.',
    );
  }
  const geo = presentMember(body, 'inference_geo') ?? everywhere;
  if (geo !== everywhere) {
    throw notPortable('inference_geo', 'This model cannot guarantee a region. Leave it out.');
  }
}

/** The value that requires no region. */
const everywhere = 'global';

interface RequestedFormat {
  readonly format: OutputFormat | undefined;
  /** The caller's name for it. */
  readonly name: string;
}

/** Reads the format. Anthropic holds every reply to its schema, as `strict` does elsewhere. */
function readFormat(body: JsonObject, drop: (at: string) => void): RequestedFormat {
  const config = objectIn(body, 'output_config', '') ?? {};
  const format = objectIn(config, 'format', 'output_config');
  const older = objectIn(body, olderName, '');
  if (format !== undefined && older !== undefined) drop(olderName);
  const sent = format ?? older;
  const name = format === undefined && older !== undefined ? olderName : newerName;
  if (sent === undefined) return { format: undefined, name };
  if (presentMember(sent, 'type') !== 'json_schema')
    refuse(`${name}.type`, 'must be "json_schema".');
  const schema = requiredObject(sent, 'schema', name);
  return {
    format: { type: 'json_schema', name: 'response', description: undefined, schema, strict: true },
    name,
  };
}

const newerName = 'output_config.format';
const olderName = 'output_format';

/** The settings, and the caller's name for the one that counts most. */
interface RequestedReasoning {
  readonly reasoning: Reasoning | undefined;
  readonly name: string;
}

/**
 * Reads both members. A caller who doesn't ask for thinking is not shown any, even if an effort is
 * stated.
 */
function readReasoning(body: JsonObject, drop: (at: string) => void): RequestedReasoning {
  const effort = readEffort(body);
  const thinking = objectIn(body, 'thinking', '');
  if (thinking === undefined) return effortAlone(effort);
  switch (textIn(thinking, 'type', 'thinking')) {
    case 'disabled':
      if (effort !== undefined) drop(effortName);
      return { ...effortAlone('none'), name: 'thinking' };
    case 'between_tools':
      drop('thinking');
      return effortAlone(effort);
    case 'adaptive': {
      const includeThoughts = displayIn(thinking, drop) === 'summarized';
      const reasoning = { effort, budgetTokens: undefined, includeThoughts };
      return { reasoning, name: effort === undefined ? 'thinking' : effortName };
    }
    case 'enabled': {
      const includeThoughts = displayIn(thinking, drop) !== 'omitted';
      const budgetTokens = readBudget(thinking);
      if (effort === undefined) {
        return { reasoning: { effort, budgetTokens, includeThoughts }, name: 'thinking' };
      }
      const reasoning = { effort, budgetTokens, includeThoughts, budgetAt };
      return { reasoning, name: effortName };
    }
    default:
      return refuse('thinking.type', 'must be "enabled", "adaptive" or "disabled".');
  }
}

const effortName = 'output_config.effort';
const budgetAt = 'thinking.budget_tokens';

function effortAlone(effort: ReasoningEffort | undefined): RequestedReasoning {
  if (effort === undefined) return { reasoning: undefined, name: 'thinking' };
  const reasoning = { effort, budgetTokens: undefined, includeThoughts: false };
  return { reasoning, name: effortName };
}

/** Anthropic's efforts; `none` and `minimal` are those of other providers. */
const efforts = reasoningEfforts.filter((effort) => effort !== 'none' && effort !== 'minimal');

function readEffort(body: JsonObject): ReasoningEffort | undefined {
  const value = presentMember(objectIn(body, 'output_config', ''), 'effort');
  return effortIn(value, effortName, efforts);
}

/** Agents send less than Anthropic's minimum of 1,024, so that any positive number counts. */
function readBudget(thinking: JsonObject): number {
  const budget = integerIn(thinking, 'budget_tokens', 'thinking') ?? 0;
  return budget >= 1 ? budget : refuse(budgetAt, 'must be a whole number of at least 1.');
}

function displayIn(thinking: JsonObject, drop: (at: string) => void): string | undefined {
  const display = textIn(thinking, 'display', 'thinking');
  if (display === undefined || display === 'summarized' || display === 'omitted') return display;
  drop('thinking.display');
  return undefined;
}
