/**
 * The common form of a reply: a list of events in the order in which the model produced them. A
 * whole reply and a stream give the same events.
 */
import type { FailureReason } from '../failure-reasons.ts';
import type { JsonNumber, JsonObject } from '../json.ts';
import {
  allReported,
  type PassUsage,
  type ToolCalls,
  type Usage,
  type UsageRemarks,
} from '../money.ts';
import type { ProviderData } from './provider-data.ts';

/**
 * One event of a reply. `choice` is the candidate's index from 0. A reader emits exactly one
 * `finish` per choice, after all of its content. Every `usage` event has the totals so far, so that
 * the last one counts.
 */
export type ContentEvent =
  /** Comes first, if the upstream sends its id or model. */
  | {
      readonly type: 'start';
      readonly id: string | undefined;
      readonly model: string | undefined;
      readonly serviceTier?: ServiceTier | undefined;
    }
  /** Visible text. An empty text only carries provider data. */
  | TextEvent<'text'>
  /** Reasoning. An empty text only carries the signature of the reasoning before it. */
  | TextEvent<'reasoning'>
  /** Text in which the model refuses. */
  | TextEvent<'refusal'>
  | ToolCallBegin
  /** The next fragment of the arguments' JSON text. */
  | {
      readonly type: 'tool_arguments';
      readonly choice: number;
      readonly call: number;
      readonly text: string;
    }
  /** The call is complete. */
  | { readonly type: 'tool_end'; readonly choice: number; readonly call: number }
  /** An image or audio clip that the model generated. */
  | {
      readonly type: 'media';
      readonly choice: number;
      readonly mimeType: string;
      /** Base64. */
      readonly data: string;
      readonly providerData?: ProviderData | undefined;
    }
  /** A generated image, given by its URL. */
  | { readonly type: 'media_url'; readonly choice: number; readonly url: string }
  | {
      readonly type: 'logprobs';
      readonly choice: number;
      readonly tokens: readonly TokenLogprob[];
    }
  /** The sources of the text. */
  | {
      readonly type: 'citations';
      readonly choice: number;
      readonly citations: readonly Citation[];
    }
  /**
   * Data of one provider for callers who know that provider: safety ratings, server-side tool
   * results.
   */
  | {
      readonly type: 'provider_specific';
      readonly choice: number;
      readonly provider: string;
      readonly name: string;
      readonly value: JsonObject | readonly JsonObject[];
    }
  | {
      readonly type: 'finish';
      readonly choice: number;
      readonly reason: FinishReason;
      /** The upstream's finish reason, if `reason` is less specific. */
      readonly native?: string | undefined;
      readonly message?: string | undefined;
      readonly stopSequence?: string | undefined;
    }
  | { readonly type: 'usage'; readonly usage: ReplyUsage }
  /** The prompt was blocked. This is a valid reply without candidates, not a failure. */
  | {
      readonly type: 'blocked';
      /** The provider's reason, such as `SAFETY` or `PROHIBITED_CONTENT`. */
      readonly reason: string;
      readonly message: string | undefined;
    }
  /**
   * The upstream replied, and billed, but the reply is useless to the caller; it is reported as a
   * failure. `reason` is `upstream_unusable_output` or `upstream_empty_response`.
   */
  | { readonly type: 'unusable'; readonly reason: FailureReason };

/** The tiers of a reply, as OpenAI names them. */
export const serviceTiers = ['auto', 'default', 'flex', 'scale', 'priority'] as const;

export type ServiceTier = (typeof serviceTiers)[number];

export type EventOf<Type extends ContentEvent['type']> = Extract<
  ContentEvent,
  { readonly type: Type }
>;

export type ChoiceEvent = Extract<ContentEvent, { readonly choice: number }>;

export interface TextEvent<Kind extends string> {
  readonly type: Kind;
  readonly choice: number;
  readonly text: string;
  readonly providerData?: ProviderData | undefined;
}

export function mayCutCall(reason: FinishReason | undefined): boolean {
  return reason === 'length' || reason === 'content_filter';
}

/** The upstream's explanation for a filtered reply, which is shown as the refusal. */
export function filterMessage(finish: EventOf<'finish'> | undefined): string | null {
  return finish?.reason === 'content_filter' ? finish.message || null : null;
}

export function blockedMessage({ reason, message }: EventOf<'blocked'>): string {
  const sentence = `Prompt blocked: ${reason}`;
  return message === undefined || message === '' ? sentence : `${sentence}. ${message}`;
}

export interface ToolCallBegin {
  readonly type: 'tool_begin';
  readonly choice: number;
  /** The call's number within its choice, counted from 0 without gaps. */
  readonly call: number;
  /** Never empty; generated if the upstream gives none. */
  readonly id: string;
  readonly name: string;
  /**
   * The complete JSON text of the arguments, or an empty string if they follow. A call that ends
   * without any has none, unless it is the last one and a limit or a filter ended the reply: then
   * it was cut, and must not look complete.
   */
  readonly arguments: string;
  readonly providerData?: ProviderData | undefined;
}

/**
 * Why a choice ended. `other` is a reason that not all providers have: the choice has output, and
 * `native` has the upstream's reason.
 */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other';

export interface TokenLogprob {
  readonly token: string;
  readonly logprob: JsonNumber;
  readonly top: readonly { readonly token: string; readonly logprob: JsonNumber }[];
}

/** The offsets count UTF-16 units of the choice's visible text; `end` is exclusive. */
export interface Citation {
  readonly url: string;
  readonly title: string | undefined;
  readonly start: number | undefined;
  readonly end: number | undefined;
}

/** The usage of a reply. A count is undefined if the upstream didn't state it. */
export interface ReplyUsage {
  /** Includes the cached tokens. */
  readonly inputTokens: number;
  /** Includes the reasoning tokens. */
  readonly outputTokens: number;
  readonly cachedInputTokens: number | undefined;
  /** Tokens written to the cache, for five minutes and for an hour together. */
  readonly cacheWriteTokens: number | undefined;
  readonly reasoningTokens: number | undefined;
  readonly audioInputTokens: number | undefined;
  readonly audioOutputTokens: number | undefined;
  readonly gap?: UsageGap;
  /** The part of `cacheWriteTokens` that is kept for an hour. */
  readonly cacheWrite1hTokens?: number | undefined;
  readonly imageInputTokens?: number | undefined;
  readonly imageOutputTokens?: number | undefined;
  readonly videoInputTokens?: number | undefined;
  readonly cachedMedia?: { readonly audio: number; readonly image: number; readonly video: number };
  readonly largestPassInputTokens?: number | undefined;
  readonly passes?: readonly PassUsage[] | undefined;
  readonly toolCalls?: ToolCalls | undefined;
  readonly remarks?: UsageRemarks | undefined;
}

/** The usage of a blocked prompt for which none was reported. */
export const zeroUsage: ReplyUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: undefined,
  cacheWriteTokens: undefined,
  reasoningTokens: undefined,
  audioInputTokens: undefined,
  audioOutputTokens: undefined,
};

/**
 * The part of the usage that the last usage object doesn't state. `output`: the output tokens,
 * except perhaps those for reasoning. `split`: only the total is known, and `inputTokens` holds it.
 */
export type UsageGap = 'output' | 'split' | undefined;

/**
 * The usage to charge. If only the total was stated, `counted` tokens of content are the output and
 * the rest is the prompt, which is never empty.
 */
export function splitUsage(usage: ReplyUsage, counted: number): Usage {
  const charged = chargeableUsage(usage);
  if (usage.gap !== 'split') return charged;
  const leastInput = Math.max(1, charged.cachedInputTokens);
  const answer = Math.max(0, Math.min(counted, charged.inputTokens - leastInput));
  if (answer === 0) return charged;
  return {
    ...charged,
    inputTokens: charged.inputTokens - answer,
    outputTokens: charged.outputTokens + answer,
    unreported: { input: 0, output: 0, splitOutput: answer },
  };
}

export function withCountedOutput(usage: Usage, tokens: number): Usage {
  if (tokens === 0) return usage;
  const { input, output, splitOutput } = usage.unreported ?? allReported;
  return {
    ...usage,
    outputTokens: usage.outputTokens + tokens,
    unreported: { input, output: output + tokens, splitOutput },
  };
}

/**
 * The usage of a whole reply to charge. If only the reasoning tokens of the output were stated, the
 * counted content is added to them.
 */
export function usageOfWholeReply(usage: ReplyUsage, counted: () => number): Usage {
  if (usage.gap === 'split') return splitUsage(usage, counted());
  const charged = chargeableUsage(usage);
  // If no output was stated at all, the settlement counts it and marks the record accordingly.
  if (usage.gap === undefined || charged.outputTokens === 0) return charged;
  return withCountedOutput(charged, counted());
}

export function chargeableUsage(usage: ReplyUsage): Usage {
  const { cacheWriteTokens: written, cacheWrite1hTokens: forAnHour, cachedMedia } = usage;
  const uncached = cachedMedia === undefined ? usage : withoutCached(usage, cachedMedia);
  return {
    inputTokens: usage.inputTokens,
    cachedInputTokens: usage.cachedInputTokens ?? 0,
    outputTokens: usage.outputTokens,
    images: 0,
    cacheWrite5mTokens: written === undefined ? undefined : written - (forAnHour ?? 0),
    cacheWrite1hTokens: forAnHour,
    reasoningTokens: usage.reasoningTokens,
    audioInputTokens: uncached.audioInputTokens,
    audioOutputTokens: usage.audioOutputTokens,
    imageInputTokens: uncached.imageInputTokens,
    imageOutputTokens: usage.imageOutputTokens,
    videoInputTokens: uncached.videoInputTokens,
    largestPassInputTokens: usage.largestPassInputTokens,
    passes: usage.passes,
    toolCalls: usage.toolCalls,
    ...(usage.remarks === undefined ? {} : { remarks: usage.remarks }),
  };
}

type MediaInput = Pick<Usage, 'audioInputTokens' | 'imageInputTokens' | 'videoInputTokens'>;

function withoutCached(
  { audioInputTokens, imageInputTokens, videoInputTokens }: MediaInput,
  cached: NonNullable<ReplyUsage['cachedMedia']>,
): MediaInput {
  return {
    audioInputTokens: less(audioInputTokens, cached.audio),
    imageInputTokens: less(imageInputTokens, cached.image),
    videoInputTokens: less(videoInputTokens, cached.video),
  };
}

function less(tokens: number | undefined, cached: number): number | undefined {
  return tokens === undefined ? undefined : Math.max(0, tokens - cached);
}
