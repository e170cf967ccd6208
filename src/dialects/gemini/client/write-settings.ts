/** Writes `generationConfig`: limits, sampling, output format and thinking. */

import { jsonText } from '../../../canonical/raw-json.ts';
import type { OutputFormat, Reasoning } from '../../../canonical/request.ts';
import { withDescription } from '../../../canonical/schema/members.ts';
import { toOpenApiSchema } from '../../../canonical/schema/openapi.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../json.ts';
import type { ReasoningEffort, ThinkingBudget } from '../../../ports/models/capabilities.ts';
import { nearestEffort } from '../../capabilities.ts';
import { notPortable } from '../../not-portable.ts';
import { type Members, unlessEmpty, type WriteContext } from './write-context.ts';

/**
 * @param format the members that set the output format
 * @param own the caller's own `generationConfig`, which takes precedence over the common settings
 */
export function writeSettings(
  context: WriteContext,
  format: Members,
  own: JsonObject,
): Members | undefined {
  const { request } = context;
  const { thinkingConfig: ownThinking, ...ownConfig } = own;
  const { temperature, topP, topK } = sampling(context);
  const { responseLogprobs, logprobs } = logprobMembers(context);
  return unlessEmpty({
    temperature,
    topP,
    topK,
    maxOutputTokens: request.maxOutputTokens,
    stopSequences: stopSequences(context),
    candidateCount: candidateCount(context),
    seed: seed(context),
    presencePenalty: penalty(context, 'presencePenalty'),
    frequencyPenalty: penalty(context, 'frequencyPenalty'),
    responseLogprobs,
    logprobs,
    responseModalities: modalities(context),
    thinkingConfig: thinkingConfig(context, ownThinking),
    ...format,
    ...ownConfig,
  });
}

function sampling({ request, capabilities, drop }: WriteContext): Members {
  const { temperature, topP, topK, names } = request;
  const takesTemperature = capabilities.sampling !== 'none';
  const takesTopP =
    capabilities.sampling === 'any' || (takesTemperature && temperature === undefined);
  if (temperature !== undefined && !takesTemperature) drop(names.temperature);
  if (topP !== undefined && !takesTopP) drop(names.topP);
  if (topK !== undefined && !capabilities.topK) drop(names.topK);
  const clamped = temperature === undefined ? undefined : Math.min(Math.max(temperature, 0), 2);
  if (clamped !== temperature) drop(names.temperature);
  return {
    temperature: takesTemperature ? clamped : undefined,
    topP: takesTopP ? topP : undefined,
    topK: capabilities.topK ? topK : undefined,
  };
}

function stopSequences({
  request,
  capabilities,
  drop,
}: WriteContext): readonly string[] | undefined {
  const kept = request.stop.filter((text) => text !== '').slice(0, capabilities.stopLimit);
  if (kept.length < request.stop.length) drop(request.names.stop);
  return kept.length === 0 ? undefined : kept;
}

function candidateCount({ request, capabilities }: WriteContext): number | undefined {
  const { candidates, streamed, names } = request;
  if (candidates <= 1) return undefined;
  if (candidates > capabilities.maxCandidates) {
    throw notPortable(names.candidates, candidateLimitMessage(capabilities.maxCandidates));
  }
  if (streamed && !capabilities.streamedCandidates) {
    throw notPortable(names.candidates, 'This model streams a single candidate only. Request one.');
  }
  return candidates;
}

function candidateLimitMessage(max: number): string {
  const candidates = max === 1 ? 'one candidate' : `at most ${max} candidates`;
  return `This model returns ${candidates} per request. Request fewer.`;
}

/** Google's seed has 32 bits. A larger one is cut to them and stays deterministic. */
function seed({ request, capabilities, drop }: WriteContext): number | undefined {
  if (request.seed === undefined) return undefined;
  const truncated = request.seed | 0;
  if (!capabilities.seed || truncated !== request.seed) drop(request.names.seed);
  return capabilities.seed ? truncated : undefined;
}

/** Many models refuse even 0, which is the default anyway. */
function penalty(
  { request, capabilities, drop }: WriteContext,
  name: 'presencePenalty' | 'frequencyPenalty',
): number | undefined {
  const value = request[name];
  if (value === undefined || value === 0) return undefined;
  if (!capabilities.penalties) drop(request.names[name]);
  return capabilities.penalties ? value : undefined;
}

const maxTopLogprobs = 20;

function logprobMembers({ request, capabilities, drop }: WriteContext): Members {
  if (request.logprobs === undefined) return {};
  if (!capabilities.logprobs) {
    drop(request.names.logprobs);
    return {};
  }
  const top = request.logprobs.top ?? 0;
  if (top > maxTopLogprobs) drop(request.names.logprobs);
  return {
    responseLogprobs: true,
    logprobs: top > 0 ? Math.min(top, maxTopLogprobs) : undefined,
  };
}

function modalities({ request, capabilities }: WriteContext): readonly string[] | undefined {
  const wanted = request.modalities ?? [];
  if (wanted.every((modality) => modality === 'text')) return undefined;
  if (!capabilities.mediaOutput) {
    throw notPortable(request.names.modalities, 'This model returns text only. Request text.');
  }
  // Models with audio output refuse a request for audio together with text.
  if (wanted.includes('audio')) return ['AUDIO'];
  return wanted.map((modality) => modality.toUpperCase());
}

const jsonType = 'application/json';

export function writeFormat(context: WriteContext): {
  readonly config: Members;
  readonly instructions: readonly string[];
} {
  const { request, capabilities, drop } = context;
  const { format } = request;
  if (format === undefined) return { config: {}, instructions: [] };
  const { structuredOutput } = capabilities;
  const allowsJsonMode = capabilities.jsonWithTools || request.tools.length === 0;
  const canEnforce = allowsJsonMode && structuredOutput !== 'none';
  const lacksSchema = structuredOutput === 'json' && format.type !== 'json';
  if (canEnforce && !lacksSchema) return { config: outputMode(context, format), instructions: [] };
  drop(request.names.format);
  const enforcesJson = canEnforce && format.type === 'json_schema';
  return {
    config: enforcesJson ? { responseMimeType: jsonType } : {},
    instructions: [instructionFor(format)],
  };
}

function outputMode(context: WriteContext, format: OutputFormat): Members {
  switch (format.type) {
    case 'json':
      return { responseMimeType: jsonType };
    case 'enum':
      return {
        responseMimeType: 'text/x.enum',
        responseSchema: { type: 'STRING', enum: format.values },
      };
    case 'json_schema':
      return {
        responseMimeType: jsonType,
        ...schemaMember(context, withDescription(format.schema, format.description)),
      };
  }
}

function schemaMember({ request, capabilities, drop }: WriteContext, schema: JsonObject): Members {
  if (capabilities.structuredOutput === 'schema') return { responseJsonSchema: schema };
  const converted = toOpenApiSchema(schema);
  if (converted.changed) drop(request.names.format);
  return { responseSchema: converted.schema };
}

const byTheSchema =
  'Answer only with JSON, without Markdown fences, that matches this JSON Schema: ';

function instructionFor(format: OutputFormat): string {
  switch (format.type) {
    case 'json':
      return 'Answer with one JSON object only, without Markdown fences.';
    case 'enum':
      return `Answer with exactly one of these values only: ${jsonText(format.values)}`;
    case 'json_schema':
      return `${byTheSchema}${jsonText(withDescription(format.schema, format.description))}`;
  }
}

/** @param ownConfig the caller's `thinkingConfig`, which overrides the common settings */
function thinkingConfig(
  context: WriteContext,
  ownConfig: JsonValue | undefined,
): Members | undefined {
  const own = isJsonObject(ownConfig) ? ownConfig : {};
  const config: Members = { ...requestedConfig(context), ...own };
  if (Object.keys(config).length === 0) return undefined;
  const { thinkingLevel, thinkingBudget, ...rest } = config;
  // Google refuses a level together with a budget.
  const isByBudget = thinkingLevel === undefined || member(own, 'thinkingBudget') !== undefined;
  return isByBudget ? { ...rest, thinkingBudget } : { ...rest, thinkingLevel };
}

function requestedConfig({ request, capabilities, drop }: WriteContext): Members {
  const { reasoning } = request;
  if (reasoning === undefined) return {};
  const isOff = reasoning.effort === 'none' || reasoning.budgetTokens === 0;
  if (capabilities.reasoning === 'none') {
    // A caller who only wants to see the reasoning loses nothing if there is none.
    if (!isOff && isSet(reasoning)) drop(request.names.reasoning);
    if (reasoning.budgetAt !== undefined) drop(reasoning.budgetAt);
    return {};
  }
  const takesBudget = capabilities.reasoning === 'budget';
  const setting = takesBudget
    ? budgetFor(reasoning, capabilities.thinkingBudget)
    : levelFor(reasoning, capabilities.efforts);
  if (setting.isReplaced) drop(request.names.reasoning);
  const { budgetAt } = reasoning;
  if (budgetAt !== undefined) drop(takesBudget ? request.names.reasoning : budgetAt);
  const includeThoughts = isOff
    ? false
    : (reasoning.includeThoughts ?? (isSet(reasoning) || undefined));
  return {
    ...setting.members,
    ...(includeThoughts === undefined ? {} : { includeThoughts }),
  };
}

function isSet({ effort, budgetTokens }: Reasoning): boolean {
  return effort !== undefined || budgetTokens !== undefined;
}

interface ThinkingSetting {
  readonly members: Members;
  readonly isReplaced: boolean;
}

const unset: ThinkingSetting = { members: {}, isReplaced: false };

function levelFor(reasoning: Reasoning, efforts: readonly ReasoningEffort[]): ThinkingSetting {
  const wanted = reasoning.effort ?? effortOf(reasoning.budgetTokens);
  const levels = efforts.filter((effort) => ['minimal', 'low', 'medium', 'high'].includes(effort));
  const level = wanted === undefined ? undefined : nearestEffort(wanted, levels);
  if (level === undefined) return unset;
  return {
    members: { thinkingLevel: level.toUpperCase() },
    isReplaced: reasoning.effort !== level,
  };
}

function effortOf(budget: number | undefined): ReasoningEffort | undefined {
  if (budget === undefined || budget < 0) return undefined;
  if (budget === 0) return 'none';
  if (budget <= 1_024) return 'low';
  return budget <= 8_192 ? 'medium' : 'high';
}

/** Like Google's OpenAI-compatible endpoint. The default range is that of Gemini 2.5 Flash. */
function budgetFor(
  { effort, budgetTokens }: Reasoning,
  range: ThinkingBudget = { min: 0, max: 24_576 },
): ThinkingSetting {
  const canBeOff = range.min === 0 || range.off === true;
  const wanted = budgetTokens ?? budgetOf(effort, { ...range, off: canBeOff });
  if (wanted === undefined) return unset;
  if (wanted === -1 || (wanted === 0 && canBeOff)) {
    return { members: { thinkingBudget: wanted }, isReplaced: false };
  }
  const thinkingBudget = Math.min(Math.max(wanted, range.min), range.max);
  return { members: { thinkingBudget }, isReplaced: thinkingBudget !== wanted };
}

function budgetOf(
  effort: ReasoningEffort | undefined,
  { min, max, off }: ThinkingBudget,
): number | undefined {
  switch (effort) {
    case undefined:
      return undefined;
    case 'none':
      return 0;
    case 'minimal':
      return off === true ? 512 : min;
    case 'low':
      return 1_024;
    case 'medium':
      return 8_192;
    case 'high':
      return Math.min(24_576, max);
    case 'xhigh':
    case 'max':
      return max;
  }
}
