/** Reads a native (Gemini) request into the common form. */
import type { ContentRequest, ProviderMember, RequestField } from '../../../canonical/request.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../json.ts';
import type { RequestedReply } from '../../codec.ts';
import { type Drop, dropUnknown, enumValue, field, unknownFields } from './fields.ts';
import { readContents, readSystem } from './read-messages.ts';
import { readSettings } from './read-settings.ts';
import { readTools } from './read-tools.ts';

const read: readonly string[] = [
  ...['model', 'contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig'],
  ...['serviceTier'],
];
/** True: without the member the request would mean something else. */
const googleOnly: Readonly<Record<string, boolean>> = {
  cachedContent: true,
  continuationToken: true,
  safetySettings: false,
  labels: false,
  modelArmorConfig: false,
};
const names: Readonly<Record<RequestField, string>> = {
  toolChoice: 'toolConfig.functionCallingConfig',
  parallelToolCalls: 'toolConfig',
  format: 'generationConfig.responseMimeType',
  maxOutputTokens: 'generationConfig.maxOutputTokens',
  temperature: 'generationConfig.temperature',
  topP: 'generationConfig.topP',
  topK: 'generationConfig.topK',
  presencePenalty: 'generationConfig.presencePenalty',
  frequencyPenalty: 'generationConfig.frequencyPenalty',
  seed: 'generationConfig.seed',
  stop: 'generationConfig.stopSequences',
  candidates: 'generationConfig.candidateCount',
  logprobs: 'generationConfig.responseLogprobs',
  reasoning: 'generationConfig.thinkingConfig',
  modalities: 'generationConfig.responseModalities',
  endUserId: 'labels',
  serviceTier: 'serviceTier',
  verbosity: 'verbosity',
  tools: 'tools',
  system: 'systemInstruction',
};
const serviceTiers: Readonly<Record<string, string>> = {
  STANDARD: 'default',
  DEFAULT: 'default',
  FLEX: 'flex',
  PRIORITY: 'priority',
};

export function readRequest(sent: JsonObject, { streamed }: RequestedReply): ContentRequest {
  const body = unwrapped(sent);
  const dropped = new Set<string>();
  const drop: Drop = (at) => void dropped.add(at);
  const turns = readContents(body, drop);
  const system = readSystem(body, drop);
  const { settings, providerMembers, formatName } = readSettings(body, drop);
  const tools = readTools(body, drop);
  const serviceTier = readServiceTier(body, drop);
  dropUnknown(body, [...read, ...Object.keys(googleOnly)], { at: '', drop });
  return {
    ...settings,
    ...tools,
    system,
    turns,
    parallelToolCalls: undefined,
    endUserId: undefined,
    serviceTier,
    streamed,
    providerMembers: [...googleOnlyMembers(body), ...providerMembers],
    names: { ...names, format: formatName },
    dropped: [...dropped],
  };
}

/** `countTokens` may wrap the request to count. */
function unwrapped(sent: JsonObject): JsonObject {
  const inner = field(sent, 'generateContentRequest');
  return isJsonObject(inner) && field(sent, 'contents') === undefined ? inner : sent;
}

function readServiceTier(body: JsonValue, drop: Drop): string | undefined {
  const word = enumValue(field(body, 'serviceTier'), 'SERVICE_TIER');
  const tier = word === undefined ? undefined : serviceTiers[word];
  if (word !== undefined && tier === undefined) drop('serviceTier');
  return tier;
}

function googleOnlyMembers(body: JsonObject): readonly ProviderMember[] {
  return unknownFields(body, read).flatMap(({ name, written, value }) => {
    const vital = Object.hasOwn(googleOnly, name) ? googleOnly[name] : undefined;
    return vital === undefined ? [] : [{ provider: 'gemini', name, value, at: written, vital }];
  });
}
