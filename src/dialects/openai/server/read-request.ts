/**
 * Reads a chat completion request into the common form. Members that the form cannot express are
 * listed as dropped, by the caller's names.
 */
import type {
  ContentRequest,
  Modality,
  Reasoning,
  RequestField,
} from '../../../canonical/request.ts';
import type { JsonObject } from '../../../json.ts';
import { reasoningEfforts } from '../../../ports/catalog.ts';
import type { RequestedReply } from '../../codec.ts';
import {
  flagIn,
  integerIn,
  isList,
  numberIn,
  presentMember,
  refuse,
  refuseModeration,
  textIn,
} from '../../read-members.ts';
import { readFormat } from './read-format.ts';
import { readGoogleMembers } from './read-google-members.ts';
import { readMessages } from './read-messages.ts';
import { readToolChoice, readTools } from './read-tools.ts';
import { unreadMembers } from './unread-members.ts';

/**
 * Reads the request.
 *
 * @throws GatewayError `invalid_request` or `not_portable` that names the member
 */
export function readRequest(body: JsonObject, requested: RequestedReply): ContentRequest {
  refuseModeration(body);
  return {
    ...readMessages(body),
    tools: readTools(body),
    toolChoice: readToolChoice(body),
    parallelToolCalls: flagIn(body, 'parallel_tool_calls', ''),
    format: readFormat(body),
    maxOutputTokens:
      integerIn(body, 'max_completion_tokens', '') ?? integerIn(body, 'max_tokens', ''),
    temperature: numberIn(body, 'temperature', ''),
    topP: numberIn(body, 'top_p', ''),
    topK: integerIn(body, 'top_k', ''),
    presencePenalty: numberIn(body, 'presence_penalty', ''),
    frequencyPenalty: numberIn(body, 'frequency_penalty', ''),
    seed: integerIn(body, 'seed', ''),
    stop: readStop(body),
    candidates: integerIn(body, 'n', '') ?? 1,
    logprobs: readLogprobs(body),
    reasoning: readReasoning(body),
    modalities: readModalities(body),
    endUserId: textIn(body, 'user', '') ?? textIn(body, 'safety_identifier', ''),
    serviceTier: textIn(body, 'service_tier', ''),
    verbosity: textIn(body, 'verbosity', ''),
    streamed: requested.streamed,
    providerMembers: readGoogleMembers(body),
    names: namesIn(body),
    dropped: unreadMembers(body),
  };
}

function readStop(body: JsonObject): readonly string[] {
  const stop = presentMember(body, 'stop') ?? [];
  return (isList(stop) ? stop : [stop]).map((text) =>
    typeof text === 'string' ? text : refuse('stop', 'must be a string or an array of strings.'),
  );
}

function readLogprobs(body: JsonObject): ContentRequest['logprobs'] {
  const top = integerIn(body, 'top_logprobs', '');
  if (flagIn(body, 'logprobs', '') === true) return { top };
  if (top === undefined || top === 0) return undefined;
  return refuse('top_logprobs', 'needs `logprobs` to be true.');
}

/** A caller who requests an effort also receives the reasoning, as at Google's chat endpoint. */
function readReasoning(body: JsonObject): Reasoning | undefined {
  const value = presentMember(body, 'reasoning_effort');
  if (value === undefined) return undefined;
  const effort =
    reasoningEfforts.find((known) => known === value) ??
    refuse('reasoning_effort', `must be one of ${reasoningEfforts.join(', ')}.`);
  return { effort, budgetTokens: undefined, includeThoughts: effort !== 'none' };
}

function readModalities(body: JsonObject): readonly Modality[] | undefined {
  const value = presentMember(body, 'modalities');
  if (value === undefined) return undefined;
  if (!isList(value)) return refuse('modalities', 'must be an array.');
  return value.map(
    (name) =>
      modalities.find((known) => known === name) ??
      refuse('modalities', `can hold only ${modalities.join(', ')}.`),
  );
}

const modalities: readonly Modality[] = ['text', 'image', 'audio'];

/** Returns the name that this caller used for each field, as some fields have two. */
function namesIn(body: JsonObject): Readonly<Record<RequestField, string>> {
  const sent = (name: string, other: string): string =>
    presentMember(body, name) === undefined && presentMember(body, other) !== undefined
      ? other
      : name;
  return {
    ...fixedNames,
    toolChoice: sent('tool_choice', 'function_call'),
    maxOutputTokens: sent('max_completion_tokens', 'max_tokens'),
    endUserId: sent('user', 'safety_identifier'),
    tools: sent('tools', 'functions'),
  };
}

const fixedNames = {
  parallelToolCalls: 'parallel_tool_calls',
  format: 'response_format',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  seed: 'seed',
  stop: 'stop',
  candidates: 'n',
  logprobs: 'logprobs',
  reasoning: 'reasoning_effort',
  modalities: 'modalities',
  serviceTier: 'service_tier',
  verbosity: 'verbosity',
  system: 'messages',
} as const;
