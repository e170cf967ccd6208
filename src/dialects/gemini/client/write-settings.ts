/** Writes `generationConfig`: limits, sampling, and output format. */

import type { JsonObject } from '../../../json.ts';
import { notPortable } from '../../not-portable.ts';
import { type Members, unlessEmpty, type WriteContext } from './write-context.ts';
import { thinkingConfig } from './write-reasoning.ts';

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
  return unlessEmpty({
    ...sampling(context),
    maxOutputTokens: request.maxOutputTokens,
    stopSequences: stopSequences(context),
    candidateCount: candidateCount(context),
    seed: seed(context),
    presencePenalty: penalty(context, 'presencePenalty'),
    frequencyPenalty: penalty(context, 'frequencyPenalty'),
    ...logprobs(context),
    ...format,
    responseModalities: modalities(context),
    ...ownConfig,
    thinkingConfig: thinkingConfig(context, ownThinking),
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

function logprobs({ request, capabilities, drop }: WriteContext): Members {
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
