/** Writes limits, sampling parameters, the number of choices and other simple members. */

import {
  asksForTier,
  type ContentRequest,
  changesVerbosity,
  type RequestField,
} from '../../../canonical/request.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';
import { notPortable } from '../../not-portable.ts';
import { droppedPiece, emptyPiece, membersPiece, mergePieces, type Piece } from './piece.ts';

/** OpenAI's limit. */
const maxTopLogprobs = 20;

export function samplingPiece(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  return mergePieces([
    copyMember(request, flags.maxTokensField, 'maxOutputTokens'),
    temperature(request, flags),
    topK(request, flags),
    penalty(request, flags, { field: 'presencePenalty', name: 'presence_penalty' }),
    penalty(request, flags, { field: 'frequencyPenalty', name: 'frequency_penalty' }),
    flags.seed ? copyMember(request, 'seed', 'seed') : dropIfSet(request, 'seed'),
    stop(request, flags),
    candidates(request, flags),
    logprobs(request, flags),
    modalities(request, flags),
    copyMember(request, 'user', 'endUserId'),
    serviceTier(request),
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

function dropIfSet(request: ContentRequest, field: RequestField & keyof ContentRequest): Piece {
  return request[field] === undefined ? emptyPiece : droppedPiece(request.names[field]);
}

function temperature(request: ContentRequest, { sampling }: ResolvedCapabilities): Piece {
  const both = [
    copyMember(request, 'temperature', 'temperature'),
    copyMember(request, 'top_p', 'topP'),
  ];
  if (sampling === 'any') return mergePieces(both);
  if (sampling === 'none') {
    return mergePieces([dropIfSet(request, 'temperature'), dropIfSet(request, 'topP')]);
  }
  if (request.temperature === undefined) return copyMember(request, 'top_p', 'topP');
  return mergePieces([
    copyMember(request, 'temperature', 'temperature'),
    dropIfSet(request, 'topP'),
  ]);
}

function topK(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  return flags.topK ? copyMember(request, 'top_k', 'topK') : dropIfSet(request, 'topK');
}

/** 0 is every provider's default, and some reject even that. */
function penalty(
  request: ContentRequest,
  { penalties }: ResolvedCapabilities,
  {
    field,
    name,
  }: { readonly field: 'presencePenalty' | 'frequencyPenalty'; readonly name: string },
): Piece {
  if (request[field] === 0) return emptyPiece;
  return penalties ? copyMember(request, name, field) : dropIfSet(request, field);
}

function stop(request: ContentRequest, { stopLimit }: ResolvedCapabilities): Piece {
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
const tiers: Readonly<Record<string, string>> = {
  auto: 'auto',
  default: 'default',
  standard: 'default',
  flex: 'flex',
  priority: 'priority',
};

function serviceTier(request: ContentRequest): Piece {
  if (request.serviceTier === undefined) return emptyPiece;
  const tier = Object.entries(tiers).find(([name]) => name === request.serviceTier)?.[1];
  if (tier !== undefined) return membersPiece({ service_tier: tier });
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
