/** The plain numbers of a request: its bounds, its sampling, and how many answers it wants. */
import type { ContentRequest, RequestField } from '../../../canonical/request.ts';
import { GatewayError } from '../../../errors.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';
import { lost, nothing, type Piece, together, written } from './piece.ts';

/** OpenAI's own bound. */
const maxTopLogprobs = 20;

/** Everything in a body that neither holds text nor tools. */
export function samplingPiece(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  return together([
    plain(request, flags.maxTokensField, 'maxOutputTokens'),
    temperature(request, flags),
    topK(request, flags),
    penalty(request, flags, { field: 'presencePenalty', name: 'presence_penalty' }),
    penalty(request, flags, { field: 'frequencyPenalty', name: 'frequency_penalty' }),
    flags.seed ? plain(request, 'seed', 'seed') : unsayable(request, 'seed'),
    stop(request, flags),
    candidates(request, flags),
    logprobs(request, flags),
    modalities(request, flags),
    plain(request, 'user', 'endUserId'),
    serviceTier(request),
  ]);
}

type PlainField =
  | 'maxOutputTokens'
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'seed'
  | 'endUserId';

function plain(request: ContentRequest, name: string, field: PlainField): Piece {
  const value = request[field];
  return value === undefined ? nothing : written({ [name]: value });
}

function unsayable(request: ContentRequest, field: RequestField & keyof ContentRequest): Piece {
  return request[field] === undefined ? nothing : lost(request.names[field]);
}

function temperature(request: ContentRequest, { sampling }: ResolvedCapabilities): Piece {
  const both = [plain(request, 'temperature', 'temperature'), plain(request, 'top_p', 'topP')];
  if (sampling === 'any') return together(both);
  if (sampling === 'none') {
    return together([unsayable(request, 'temperature'), unsayable(request, 'topP')]);
  }
  if (request.temperature === undefined) return plain(request, 'top_p', 'topP');
  return together([plain(request, 'temperature', 'temperature'), unsayable(request, 'topP')]);
}

function topK(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  return flags.topK ? plain(request, 'top_k', 'topK') : unsayable(request, 'topK');
}

/** 0 is what every provider does unasked, and some refuse even that (TRANSLATION §6.11). */
function penalty(
  request: ContentRequest,
  { penalties }: ResolvedCapabilities,
  {
    field,
    name,
  }: { readonly field: 'presencePenalty' | 'frequencyPenalty'; readonly name: string },
): Piece {
  if (request[field] === 0) return nothing;
  return penalties ? plain(request, name, field) : unsayable(request, field);
}

function stop(request: ContentRequest, { stopLimit }: ResolvedCapabilities): Piece {
  const kept = request.stop.filter((sequence) => sequence !== '').slice(0, stopLimit);
  return {
    members: kept.length === 0 ? {} : { stop: kept },
    dropped: kept.length === request.stop.length ? [] : [request.names.stop],
  };
}

function candidates(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  if (request.candidates <= 1) return nothing;
  const param = request.names.candidates;
  if (request.candidates > flags.maxCandidates) {
    const most = flags.maxCandidates;
    const answers = most === 1 ? 'one answer' : `at most ${most} answers`;
    const message = `This model gives ${answers} to one request; ask for fewer.`;
    throw new GatewayError('not_portable', message, { param });
  }
  if (request.streamed && !flags.streamedCandidates) {
    const message = 'This model streams one answer at a time; ask for one, or without a stream.';
    throw new GatewayError('not_portable', message, { param });
  }
  return written({ n: request.candidates });
}

function logprobs(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  if (request.logprobs === undefined) return nothing;
  if (!flags.logprobs) return lost(request.names.logprobs);
  const { top } = request.logprobs;
  const members = {
    logprobs: true,
    top_logprobs: top === undefined ? undefined : Math.min(top, maxTopLogprobs),
  };
  const isCut = top !== undefined && top > maxTopLogprobs;
  return { members, dropped: isCut ? [request.names.logprobs] : [] };
}

function modalities(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  const asked = request.modalities ?? [];
  if (asked.every((modality) => modality === 'text')) return nothing;
  if (!flags.mediaOutput) {
    throw new GatewayError(
      'not_portable',
      'This model answers with text only; leave the other kinds of output out.',
      { param: request.names.modalities },
    );
  }
  if (!asked.includes('audio')) return written({ modalities: asked });
  return written({ modalities: asked, audio: { voice: 'alloy', format: audioFormat(request) } });
}

/** OpenAI makes no sound without being told its form, and streams it as bare samples only. */
function audioFormat({ streamed }: ContentRequest): 'pcm16' | 'wav' {
  return streamed ? 'pcm16' : 'wav';
}

/** The tiers whose names mean the same at both ends. */
const tiers: Readonly<Record<string, string>> = {
  auto: 'auto',
  default: 'default',
  standard: 'default',
  flex: 'flex',
  priority: 'priority',
};

function serviceTier(request: ContentRequest): Piece {
  if (request.serviceTier === undefined) return nothing;
  const tier = Object.entries(tiers).find(([name]) => name === request.serviceTier)?.[1];
  return tier === undefined ? lost(request.names.serviceTier) : written({ service_tier: tier });
}
