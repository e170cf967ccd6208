/**
 * Reads a Messages request into the common form. Members that the form cannot express are listed as
 * dropped, by the caller's names.
 */
import { hashOf } from '../../../canonical/call-ids.ts';
import { type ContentRequest, chatNames, type RequestField } from '../../../canonical/request.ts';
import { items, type JsonObject, member } from '../../../json.ts';
import type { RequestedReply } from '../../codec.ts';
import { notPortable } from '../../not-portable.ts';
import {
  integerIn,
  isList,
  numberIn,
  objectIn,
  presentMember,
  refuse,
  textIn,
} from '../../read-members.ts';
import { type ReplyContext, thinkingDisplay } from './exchange.ts';
import { readFormat } from './read-format.ts';
import { readConversation } from './read-messages.ts';
import { readReasoning } from './read-reasoning.ts';
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
  const { attributions, ...conversation } = readConversation(body, {
    drop,
    rawJson: requested.rawJson,
  });
  const { reasoning, name: reasoningName } = readReasoning(body, drop);
  const { format, name: formatName } = readFormat(body, drop);
  const request: ContentRequest = {
    ...unsetSettings,
    ...conversation,
    ...readTools(body, drop),
    ...readSettings(body),
    ...readUser(body, requested),
    format,
    reasoning,
    streamed: requested.streamed,
    names: { ...fixedNames, format: formatName, reasoning: reasoningName },
    dropped: [...dropped],
  };
  return {
    request,
    unasked: unaskedMembers(request, attributions),
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

function readSettings(
  body: JsonObject,
): Pick<
  ContentRequest,
  'maxOutputTokens' | 'temperature' | 'topP' | 'topK' | 'stop' | 'serviceTier'
> {
  return {
    maxOutputTokens: readMaxTokens(body),
    temperature: unlessUnset(numberIn(body, 'temperature', '')),
    topP: unlessUnset(numberIn(body, 'top_p', '')),
    topK: unlessUnset(integerIn(body, 'top_k', '')),
    stop: readStop(body),
    serviceTier: readServiceTier(body),
  };
}

/** Absent from requests for a count. */
function readMaxTokens(body: JsonObject): number | undefined {
  const maxTokens = integerIn(body, 'max_tokens', '') ?? 1;
  if (maxTokens < 1) refuse('max_tokens', 'must be at least 1.');
  return integerIn(body, 'max_tokens', '');
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

/** Settings that this API doesn't have. */
const unsetSettings = {
  presencePenalty: undefined,
  frequencyPenalty: undefined,
  seed: undefined,
  candidates: 1,
  logprobs: undefined,
  modalities: undefined,
  providerMembers: [],
} as const;

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
