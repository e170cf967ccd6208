/**
 * Reads a chat completion request into the common form. Members that the form cannot express are
 * listed as dropped, by the caller's names.
 */
import {
  type ContentRequest,
  chatNames,
  type Modality,
  type OutputFormat,
  type ProviderMember,
  type Reasoning,
  type RequestField,
} from '../../../canonical/request.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../json.ts';
import type { RequestedReply } from '../../codec.ts';
import {
  effortIn,
  flagIn,
  integerIn,
  isList,
  numberIn,
  objectIn,
  presentMember,
  readSchemaFormat,
  refuse,
  refuseModeration,
  requiredObject,
  textIn,
} from '../../read-members.ts';
import { readMessages } from './read-messages.ts';
import { readToolChoice, readTools } from './read-tools.ts';
import { unreadMembers } from './unread-members.ts';

export function readRequest(body: JsonObject, requested: RequestedReply): ContentRequest {
  refuseModeration(body);
  const { system, turns } = readMessages(body);
  return {
    system,
    turns,
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
  const effort = effortIn(presentMember(body, 'reasoning_effort'), 'reasoning_effort');
  if (effort === undefined) return undefined;
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
  const sent = (name: string, other: string): string => {
    if (presentMember(body, other) === undefined) return name;
    return presentMember(body, name) === undefined ? other : name;
  };
  return {
    ...chatNames,
    toolChoice: sent('tool_choice', 'function_call'),
    maxOutputTokens: sent('max_completion_tokens', 'max_tokens'),
    endUserId: sent('user', 'safety_identifier'),
    tools: sent('tools', 'functions'),
  };
}

/** Google's own names, at the paths where callers of its chat-compatible endpoint put them. */
function readGoogleMembers(body: JsonObject): readonly ProviderMember[] {
  if (!holdersOfGoogleMembers.some((name) => Object.hasOwn(body, name))) return [];
  const extra = objectIn(body, 'extra_body', '') ?? {};
  const google = objectIn(extra, 'google', 'extra_body') ?? {};
  return [
    ...googleMember(google, 'safety_settings', 'extra_body.google.'),
    ...googleMember(extra, 'safety_settings', 'extra_body.'),
    ...googleMember(body, 'safety_settings', ''),
    ...googleMember(google, 'cached_content', 'extra_body.google.'),
    ...googleMember(google, 'thinking_config', 'extra_body.google.'),
    ...readVoice(body),
  ].filter((own, index, all) => all.findIndex(({ name }) => name === own.name) === index);
}

const holdersOfGoogleMembers = ['extra_body', 'safety_settings', 'audio'];

function googleMember(source: JsonObject, name: string, at: string): readonly ProviderMember[] {
  const value = presentMember(source, name);
  if (value === undefined) return [];
  return [
    {
      provider: 'gemini',
      name: camelCase(name),
      value: camelCased(value),
      at: `${at}${name}`,
      // Without the cached content, the model would miss context that the prompt refers to.
      vital: name === 'cached_content',
    },
  ];
}

/** Voice names differ between providers; the name is passed on unchanged. */
function readVoice(body: JsonObject): readonly ProviderMember[] {
  const voiceName = member(objectIn(body, 'audio', ''), 'voice');
  if (typeof voiceName !== 'string') return [];
  const value = { voiceConfig: { prebuiltVoiceConfig: { voiceName } } };
  return [{ provider: 'gemini', name: 'speechConfig', value, at: 'audio.voice', vital: false }];
}

function camelCased(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, held]) => [camelCase(name), held]));
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function readFormat(body: JsonObject): OutputFormat | undefined {
  const format = objectIn(body, 'response_format', '');
  if (format === undefined) return undefined;
  switch (member(format, 'type')) {
    case 'text':
      return undefined;
    case 'json_object':
      return jsonFormat(format);
    case 'json_schema':
      return readSchemaFormat(
        requiredObject(format, 'json_schema', 'response_format'),
        'response_format.json_schema',
      );
    default:
      return refuse('response_format.type', 'must be "text", "json_object" or "json_schema".');
  }
}

/** Together and Fireworks accept a schema with `json_object`. */
function jsonFormat(format: JsonObject): OutputFormat {
  const schema = member(format, 'schema');
  if (!isJsonObject(schema)) return { type: 'json' };
  return {
    type: 'json_schema',
    name: undefined,
    description: undefined,
    schema,
    strict: undefined,
  };
}
