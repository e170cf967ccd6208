/** Reads `generationConfig`: limits, sampling, reasoning and output format. */
import type {
  ContentRequest,
  Modality,
  ProviderMember,
  Reasoning,
} from '../../../canonical/request.ts';
import type { JsonObject, JsonValue } from '../../../json.ts';
import type { ReasoningEffort } from '../../../ports/catalog.ts';
import { refuse } from '../../read-members.ts';
import {
  type Drop,
  dropUnknown,
  enumValue,
  field,
  flagField,
  integerField,
  listField,
  numberField,
  objectField,
  unknownFields,
} from './fields.ts';
import { readFormat } from './read-format.ts';

export interface ReadSettings {
  readonly settings: Pick<
    ContentRequest,
    | 'format'
    | 'maxOutputTokens'
    | 'temperature'
    | 'topP'
    | 'topK'
    | 'presencePenalty'
    | 'frequencyPenalty'
    | 'seed'
    | 'stop'
    | 'candidates'
    | 'logprobs'
    | 'reasoning'
    | 'modalities'
  >;
  readonly providerMembers: readonly ProviderMember[];
  /** The caller's name for the member that sets the output format. */
  readonly formatName: string;
}

const at = 'generationConfig';
const read: readonly string[] = [
  ...['maxOutputTokens', 'temperature', 'topP', 'topK', 'presencePenalty', 'frequencyPenalty'],
  ...['seed', 'stopSequences', 'candidateCount', 'responseLogprobs', 'logprobs'],
  ...['responseMimeType', 'responseSchema', 'responseJsonSchema', 'responseFormat'],
  ...['responseModalities', 'thinkingConfig'],
];
/** Known members that have no equivalent at other providers. */
const googleOnly: readonly string[] = [
  ...['speechConfig', 'mediaResolution', 'imageConfig', 'audioTranscriptionConfig'],
  ...['audioTimestamp', 'enableAffectiveDialog', 'enableEnhancedCivicAnswers', 'modelConfig'],
  ...['modelSelectionConfig', 'routingConfig', 'translationConfig'],
];
const modalities: Readonly<Record<string, Modality>> = {
  TEXT: 'text',
  IMAGE: 'image',
  AUDIO: 'audio',
};
const efforts: Readonly<Record<string, ReasoningEffort>> = {
  NONE: 'none',
  MINIMAL: 'minimal',
  LOW: 'low',
  MEDIUM: 'medium',
  HIGH: 'high',
  XHIGH: 'xhigh',
  MAX: 'max',
};

export function readSettings(body: JsonValue, drop: Drop): ReadSettings {
  const config = objectField(body, at, '');
  const { format, name, providerMembers } = readFormat(config, drop);
  dropUnknown(config, [...read, ...googleOnly], { at, drop });
  return {
    settings: {
      format,
      maxOutputTokens: positiveInteger(config, 'maxOutputTokens'),
      temperature: numberField(config, 'temperature', at),
      topP: numberField(config, 'topP', at),
      topK: integerField(config, 'topK', at),
      presencePenalty: numberField(config, 'presencePenalty', at),
      frequencyPenalty: numberField(config, 'frequencyPenalty', at),
      seed: integerField(config, 'seed', at),
      stop: readStop(config),
      candidates: positiveInteger(config, 'candidateCount') ?? 1,
      logprobs: readLogprobs(config, drop),
      reasoning: readReasoning(config, drop),
      modalities: readModalities(config),
    },
    providerMembers: [
      ...providerMembers,
      ...googleOnlyMembers(config),
      ...unsupportedModalities(config),
    ],
    formatName: name,
  };
}

function positiveInteger(config: JsonObject | undefined, name: string): number | undefined {
  const number = integerField(config, name, at);
  return number === undefined || number > 0 ? number : refuse(`${at}.${name}`, 'must be above 0.');
}

/** Google also accepts a single string in place of a list. */
function readStop(config: JsonObject | undefined): readonly string[] {
  const sent = field(config, 'stopSequences');
  const all = typeof sent === 'string' ? [sent] : listField(config, 'stopSequences', at);
  return all.map((one, index) =>
    typeof one === 'string' ? one : refuse(`${at}.stopSequences[${index}]`, 'must be a string.'),
  );
}

function readLogprobs(config: JsonObject | undefined, drop: Drop): ContentRequest['logprobs'] {
  const top = integerField(config, 'logprobs', at);
  if (flagField(config, 'responseLogprobs', at) === true) return { top };
  if (top !== undefined) drop(`${at}.logprobs`);
  return undefined;
}

function readReasoning(config: JsonObject | undefined, drop: Drop): Reasoning | undefined {
  const path = `${at}.thinkingConfig`;
  const thinking = objectField(config, 'thinkingConfig', at);
  dropUnknown(thinking, ['thinkingLevel', 'thinkingBudget', 'includeThoughts'], { at: path, drop });
  const level = enumValue(field(thinking, 'thinkingLevel'), 'THINKING_LEVEL');
  const effort = level === undefined ? undefined : efforts[level];
  if (level !== undefined && effort === undefined) {
    return refuse(`${path}.thinkingLevel`, 'must be MINIMAL, LOW, MEDIUM or HIGH.');
  }
  const budgetTokens = integerField(thinking, 'thinkingBudget', path);
  const includeThoughts = flagField(thinking, 'includeThoughts', path);
  const isSet = [effort, budgetTokens, includeThoughts].some((value) => value !== undefined);
  return isSet ? { effort, budgetTokens, includeThoughts } : undefined;
}

function readModalities(config: JsonObject | undefined): readonly Modality[] | undefined {
  const wanted = modalityNames(config).flatMap((word) => modalities[word] ?? []);
  return wanted.length > 0 ? wanted : undefined;
}

/** They are vital: without them the request would mean something else. */
function unsupportedModalities(config: JsonObject | undefined): readonly ProviderMember[] {
  const unknown = modalityNames(config).filter((word) => modalities[word] === undefined);
  if (unknown.length === 0) return [];
  const name = 'responseModalities';
  return [{ provider: 'gemini', name, value: unknown, at: `${at}.${name}`, vital: true }];
}

function modalityNames(config: JsonObject | undefined): readonly string[] {
  return listField(config, 'responseModalities', at).flatMap(
    (value) => enumValue(value, 'MODALITY') ?? [],
  );
}

function googleOnlyMembers(config: JsonObject | undefined): readonly ProviderMember[] {
  return unknownFields(config, read)
    .filter(({ name }) => googleOnly.includes(name))
    .map(({ name, written, value }) => ({
      provider: 'gemini',
      name,
      value,
      at: `${at}.${written}`,
      vital: false,
    }));
}
