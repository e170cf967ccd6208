/** Reads `generationConfig`: limits, sampling, reasoning and output format. */
import type {
  ContentRequest,
  Modality,
  OutputFormat,
  ProviderMember,
  Reasoning,
} from '../../../canonical/request.ts';
import { fromOpenApiSchema } from '../../../canonical/schema/openapi.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import type { ReasoningEffort } from '../../../ports/models/capabilities.ts';
import { refuse } from '../../read-members.ts';
import {
  type Drop,
  dropUnknown,
  enumValue,
  field,
  fieldsOf,
  flagField,
  integerField,
  isNonEmpty,
  listField,
  numberField,
  objectField,
  textField,
  unknownFields,
} from './fields.ts';

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

interface ReadFormat {
  readonly format: OutputFormat | undefined;
  /** The member to name in errors. */
  readonly name: string;
  /** Formats that only Google supports. */
  readonly providerMembers: readonly ProviderMember[];
}

interface RequestedFormat {
  readonly mimeType: string | undefined;
  readonly schema: JsonObject | undefined;
  readonly name: string;
}

function readFormat(config: JsonObject | undefined, drop: Drop): ReadFormat {
  const listed = readList(config, drop);
  const older = readOlder(config, drop);
  const requested = listed.text ?? older;
  if (requested !== older && (older.mimeType ?? older.schema) !== undefined) drop(older.name);
  const format = formatOf(requested);
  const providerMembers =
    format === undefined
      ? [...listed.providerMembers, ...unsupportedMimeType(requested)]
      : listed.providerMembers;
  return { format, name: requested.name, providerMembers };
}

function readOlder(config: JsonObject | undefined, drop: Drop): RequestedFormat {
  const mimeType = textField(config, 'responseMimeType', at)?.trim().toLowerCase() || undefined;
  const json = objectField(config, 'responseJsonSchema', at);
  const openApi = objectField(config, 'responseSchema', at);
  if (isNonEmpty(json)) {
    if (isNonEmpty(openApi)) drop(`${at}.responseSchema`);
    return { mimeType, schema: json, name: `${at}.responseJsonSchema` };
  }
  if (isNonEmpty(openApi)) {
    return { mimeType, schema: fromOpenApiSchema(openApi), name: `${at}.responseSchema` };
  }
  return { mimeType, schema: undefined, name: `${at}.responseMimeType` };
}

/** Reads `responseFormat[]`, which has a format for each kind of output. */
function readList(
  config: JsonObject | undefined,
  drop: Drop,
): {
  readonly text: RequestedFormat | undefined;
  readonly providerMembers: readonly ProviderMember[];
} {
  const providerMembers: ProviderMember[] = [];
  let text: RequestedFormat | undefined;
  for (const [index, entry] of listField(config, 'responseFormat', at).entries()) {
    const path = `${at}.responseFormat[${index}]`;
    if (!isJsonObject(entry)) return refuse(path, 'must be an object, such as {"text":{…}}.');
    for (const { name, value } of fieldsOf(entry)) {
      if (name === 'text') {
        dropUnknown(value, ['mimeType', 'schema'], { at: `${path}.text`, drop });
        text = {
          mimeType: textField(value, 'mimeType', `${path}.text`)?.toLowerCase().replace('_', '/'),
          schema: objectField(value, 'schema', `${path}.text`),
          name: `${at}.responseFormat`,
        };
      } else {
        const place = { name: `responseFormat[${index}].${name}`, at: `${path}.${name}` };
        providerMembers.push({ provider: 'gemini', ...place, value, vital: true });
      }
    }
  }
  return { text, providerMembers };
}

function formatOf({ mimeType, schema, name }: RequestedFormat): OutputFormat | undefined {
  if (mimeType === 'text/x.enum') return { type: 'enum', values: valuesIn(schema, name) };
  if (mimeType !== undefined && mimeType !== 'application/json') {
    if (isNonEmpty(schema)) refuse(name, 'requires the MIME type application/json.');
    return undefined;
  }
  if (isNonEmpty(schema)) {
    const unset = { name: undefined, description: undefined, strict: undefined };
    return { type: 'json_schema', schema, ...unset };
  }
  return mimeType === undefined ? undefined : { type: 'json' };
}

function valuesIn(schema: JsonObject | undefined, name: string): readonly string[] {
  const values = items(member(schema, 'enum')).filter((value) => typeof value === 'string');
  return values.length > 0 ? values : refuse(name, 'requires a schema with an `enum` of strings.');
}

/** MIME types other than text and JSON are vital: output in another format would be wrong. */
function unsupportedMimeType({ mimeType, name }: RequestedFormat): readonly ProviderMember[] {
  if (mimeType === undefined || mimeType === 'text/plain') return [];
  return [{ provider: 'gemini', name: 'responseMimeType', value: mimeType, at: name, vital: true }];
}
