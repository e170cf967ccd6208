/** Writes limits, sampling parameters, the output format and the reasoning effort. */

import { functionNames } from '../../../canonical/function-names.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import {
  asksForTier,
  type ContentRequest,
  changesVerbosity,
  type OutputFormat,
} from '../../../canonical/request.ts';
import { isStrictSchema } from '../../../canonical/schema/strictness.ts';
import { member } from '../../../json.ts';
import type { ReasoningEffort } from '../../../ports/models/capabilities.ts';
import { nearestEffort, type ResolvedCapabilities } from '../../capabilities.ts';
import { notPortable } from '../../not-portable.ts';
import { droppedPiece, emptyPiece, membersPiece, mergePieces, type Piece } from './piece.ts';

/** OpenAI's limit. */
const maxTopLogprobs = 20;

export function samplingPiece(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  return mergePieces([
    copyMember(request, flags.maxTokensField, 'maxOutputTokens'),
    temperature(request, flags),
    copyIf(flags.topK, request, 'top_k', 'topK'),
    penalty(request, flags, 'presence_penalty', 'presencePenalty'),
    penalty(request, flags, 'frequency_penalty', 'frequencyPenalty'),
    copyIf(flags.seed, request, 'seed', 'seed'),
    stop(request, flags),
    candidates(request, flags),
    logprobs(request, flags),
    modalities(request, flags),
    copyIf(flags.endUserId, request, 'user', 'endUserId'),
    serviceTier(request, flags),
    verbosity(request, flags),
    promptCacheKey(request, flags),
  ]);
}

type CopiedField =
  | 'maxOutputTokens'
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'seed'
  | 'endUserId';

function copyMember(request: ContentRequest, name: string, field: CopiedField): Piece {
  const value = request[field];
  return value === undefined ? emptyPiece : membersPiece({ [name]: value });
}

function copyIf(
  isTaken: boolean,
  request: ContentRequest,
  name: string,
  field: Exclude<CopiedField, 'maxOutputTokens'>,
): Piece {
  if (isTaken || request[field] === undefined) return copyMember(request, name, field);
  return droppedPiece(request.names[field]);
}

function temperature(request: ContentRequest, { sampling }: ResolvedCapabilities): Piece {
  const takesTopP = sampling === 'any' || (sampling === 'one' && request.temperature === undefined);
  return mergePieces([
    copyIf(sampling !== 'none', request, 'temperature', 'temperature'),
    copyIf(takesTopP, request, 'top_p', 'topP'),
  ]);
}

/** 0 is every provider's default, and some reject even that. */
function penalty(
  request: ContentRequest,
  { penalties }: ResolvedCapabilities,
  name: string,
  field: 'presencePenalty' | 'frequencyPenalty',
): Piece {
  return request[field] === 0 ? emptyPiece : copyIf(penalties, request, name, field);
}

function stop(request: ContentRequest, { stopLimit }: ResolvedCapabilities): Piece {
  if (request.stop.length === 0) return emptyPiece;
  const kept = request.stop.filter((sequence) => sequence !== '').slice(0, stopLimit);
  return {
    members: kept.length === 0 ? {} : { stop: kept },
    dropped: kept.length === request.stop.length ? [] : [request.names.stop],
  };
}

function candidates(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  if (request.candidates <= 1) return emptyPiece;
  const param = request.names.candidates;
  if (request.candidates > flags.maxCandidates) {
    const most = flags.maxCandidates;
    const choices = most === 1 ? 'one choice' : `at most ${most} choices`;
    throw notPortable(param, `This model returns ${choices} per request. Request fewer.`);
  }
  if (request.streamed && !flags.streamedCandidates) {
    throw notPortable(param, 'This model streams one choice only. Request one, or do not stream.');
  }
  return membersPiece({ n: request.candidates });
}

function logprobs(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  if (request.logprobs === undefined) return emptyPiece;
  if (!flags.logprobs) return droppedPiece(request.names.logprobs);
  const { top } = request.logprobs;
  const members = {
    logprobs: true,
    top_logprobs: top === undefined ? undefined : Math.min(top, maxTopLogprobs),
  };
  const isReduced = top !== undefined && top > maxTopLogprobs;
  return { members, dropped: isReduced ? [request.names.logprobs] : [] };
}

function modalities(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  const requested = request.modalities ?? [];
  if (requested.every((modality) => modality === 'text')) return emptyPiece;
  if (!flags.mediaOutput) {
    throw notPortable(
      request.names.modalities,
      'This model outputs text only. Leave the other output modalities out.',
    );
  }
  if (!requested.includes('audio')) return membersPiece({ modalities: requested });
  return membersPiece({
    modalities: requested,
    audio: { voice: 'alloy', format: audioFormat(request) },
  });
}

/** OpenAI requires a format for audio output, and streams raw samples only. */
function audioFormat({ streamed }: ContentRequest): 'pcm16' | 'wav' {
  return streamed ? 'pcm16' : 'wav';
}

/** The service tiers that mean the same at both providers. */
const tiers: ReadonlyMap<string, string> = new Map([
  ['auto', 'auto'],
  ['default', 'default'],
  ['standard', 'default'],
  ['flex', 'flex'],
  ['priority', 'priority'],
]);

function serviceTier(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  const tier = tiers.get(request.serviceTier ?? '');
  if (tier !== undefined && flags.serviceTier) return membersPiece({ service_tier: tier });
  return asksForTier(request) ? droppedPiece(request.names.serviceTier) : emptyPiece;
}

function promptCacheKey(
  { promptCacheKey: key }: ContentRequest,
  flags: ResolvedCapabilities,
): Piece {
  return flags.promptCacheKey && key !== undefined
    ? membersPiece({ prompt_cache_key: key })
    : emptyPiece;
}

function verbosity(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  if (flags.verbosity && request.verbosity !== undefined) {
    return membersPiece({ verbosity: request.verbosity });
  }
  return changesVerbosity(request) ? droppedPiece(request.names.verbosity) : emptyPiece;
}

interface FormatPiece extends Piece {
  readonly hints: readonly string[];
}

/** OpenAI's rule for names of schemas and functions. */
export const nameRule: { readonly pattern: RegExp; readonly maxLength: number } = {
  pattern: /^[a-zA-Z0-9_-]{1,64}$/,
  maxLength: 64,
};

export function formatPiece(request: ContentRequest, flags: ResolvedCapabilities): FormatPiece {
  const { format } = request;
  if (format === undefined) return { ...emptyPiece, hints: [] };
  if (format.type === 'enum') return asHint(request, enumHint(format.values));
  if (!supportsJson(request, flags)) return asHint(request, hintOf(format));
  if (format.type === 'json') return jsonPiece(request);
  if (flags.structuredOutput === 'json') {
    return { ...asHint(request, hintOf(format)), members: jsonObject };
  }
  return isSupportedSchema(format) ? schemaPiece(request, format) : asHint(request, hintOf(format));
}

type SchemaFormat = Extract<OutputFormat, { type: 'json_schema' }>;

const jsonObject = { response_format: { type: 'json_object' } } as const;

const jsonHint = 'Answer with JSON and nothing else.';

function supportsJson({ tools }: ContentRequest, flags: ResolvedCapabilities): boolean {
  return flags.structuredOutput !== 'none' && (flags.jsonWithTools || tools.length === 0);
}

function asHint({ names }: ContentRequest, hint: string): FormatPiece {
  return { members: {}, dropped: [names.format], hints: [hint] };
}

function hintOf(format: Exclude<OutputFormat, { type: 'enum' }>): string {
  if (format.type === 'json') return jsonHint;
  return `${jsonHint} It must match this JSON Schema: ${jsonText(format.schema)}`;
}

/** A hint and not a schema, which would change the reply from bare text to JSON. */
function enumHint(values: readonly string[]): string {
  return `Answer with exactly one of these values, without quotes: ${jsonText(values)}`;
}

/** OpenAI rejects this mode unless a message contains the word JSON. */
function jsonPiece(request: ContentRequest): FormatPiece {
  return { members: jsonObject, dropped: [], hints: mentionsJson(request) ? [] : [jsonHint] };
}

function mentionsJson({ system, turns }: ContentRequest): boolean {
  const mentions = (text: string) => /json/i.test(text);
  return (
    system.some(({ text }) => mentions(text)) ||
    turns.some(({ parts }) => parts.some((part) => part.kind === 'text' && mentions(part.text)))
  );
}

/** OpenAI requires an object at the root of a schema; Gemini's callers may also request arrays. */
function isSupportedSchema({ schema }: SchemaFormat): boolean {
  const type = member(schema, 'type');
  return type === 'object' || (type === undefined && member(schema, '$ref') !== undefined);
}

function schemaPiece({ names }: ContentRequest, format: SchemaFormat): FormatPiece {
  const strict = format.strict === true && isStrictSchema(format.schema);
  const name = format.name ?? 'response';
  return {
    members: {
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: functionNames([name], nameRule).upstream(name),
          description: format.description,
          schema: format.schema,
          strict,
        },
      },
    },
    dropped: format.strict === true && !strict ? [names.format] : [],
    hints: [],
  };
}

/** Chat completions have no member that requests the reasoning itself. */
export function reasoningPiece(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  const { budgetAt } = request.reasoning ?? {};
  const effort = requestedPiece(request, flags);
  return budgetAt === undefined ? effort : mergePieces([effort, droppedPiece(budgetAt)]);
}

function requestedPiece(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  const { reasoning } = request;
  const requested = reasoning?.effort ?? effortOfBudget(reasoning?.budgetTokens);
  const hasFunctions = request.tools.some(({ kind }) => kind === 'function');
  if (flags.toolEffortNone && hasFunctions) return effortPiece(request, requested, 'none');
  if (requested === undefined) return emptyPiece;
  // A model that doesn't reason needs no setting to leave it.
  if (requested === 'none' && flags.reasoning === 'none') return emptyPiece;
  const supported =
    flags.reasoning === 'none' ? undefined : nearestEffort(requested, flags.efforts);
  return supported === undefined
    ? droppedPiece(request.names.reasoning)
    : effortPiece(request, requested, supported);
}

function effortPiece(
  request: ContentRequest,
  requested: ReasoningEffort | undefined,
  supported: ReasoningEffort,
): Piece {
  const { members } = membersPiece({ reasoning_effort: supported });
  const isReplaced = requested !== undefined && requested !== supported;
  return { members, dropped: isReplaced ? [request.names.reasoning] : [] };
}

function effortOfBudget(budget: number | undefined): ReasoningEffort | undefined {
  if (budget === undefined || budget < 0) return undefined;
  if (budget === 0) return 'none';
  if (budget <= 1024) return 'low';
  return budget <= 8192 ? 'medium' : 'high';
}
