/**
 * The common form of a reply: a row of events, the same for a whole reply and for a stream, in the
 * order in which the model produced it.
 */
import type { JsonNumber, JsonObject } from '../json.ts';
import type { ToolCalls, Usage } from '../money.ts';
import type { ProviderData } from './provider-data.ts';

/**
 * A piece of a reply. `choice` is the candidate's index from 0. A reader gives exactly one `finish`
 * a choice, behind all its content, and `usage` with all that is known so far: the last counts.
 */
export type ContentEvent =
  /** First, where the upstream says who it is. */
  | { readonly type: 'start'; readonly id: string | undefined; readonly model: string | undefined }
  /** A piece of visible text; an empty one only carries the data of its provider. */
  | TextEvent<'text'>
  /** A piece of thought; an empty one only carries the signature of the thoughts before it. */
  | TextEvent<'reasoning'>
  /** A piece of the model's own refusal. */
  | TextEvent<'refusal'>
  | ToolCallBegin
  /** More of the arguments' JSON text. */
  | {
      readonly type: 'tool_arguments';
      readonly choice: number;
      readonly call: number;
      readonly text: string;
    }
  /** The call is whole. */
  | { readonly type: 'tool_end'; readonly choice: number; readonly call: number }
  /** An image or a sound the model made. */
  | {
      readonly type: 'media';
      readonly choice: number;
      readonly mimeType: string;
      /** Base64. */
      readonly data: string;
      readonly providerData?: ProviderData | undefined;
    }
  /** An image that lies at an address. */
  | { readonly type: 'media_url'; readonly choice: number; readonly url: string }
  | {
      readonly type: 'logprobs';
      readonly choice: number;
      readonly tokens: readonly TokenLogprob[];
    }
  /** Where the text found what it says. */
  | {
      readonly type: 'citations';
      readonly choice: number;
      readonly citations: readonly Citation[];
    }
  /** What a provider alone says, for a caller who knows that provider: ratings, server tools. */
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
      /** The upstream's own word, where ours does not say it all. */
      readonly native?: string | undefined;
      /** The upstream's explanation. */
      readonly message?: string | undefined;
    }
  | { readonly type: 'usage'; readonly usage: ReplyUsage }
  /** The prompt was blocked: a definite answer without candidates, not a fault. */
  | {
      readonly type: 'blocked';
      /** The provider's own word: `SAFETY`, `PROHIBITED_CONTENT`. */
      readonly reason: string;
      readonly message: string | undefined;
    }
  /**
   * The upstream answered, and billed, what no caller could use: told as a failure.
   * `upstream_unusable_output`, `upstream_empty_response`.
   */
  | { readonly type: 'unusable'; readonly reason: string };

/** A piece of text of one kind. */
export interface TextEvent<Kind extends string> {
  readonly type: Kind;
  readonly choice: number;
  readonly text: string;
  readonly providerData?: ProviderData | undefined;
}

/** A call begins. */
export interface ToolCallBegin {
  readonly type: 'tool_begin';
  readonly choice: number;
  /** Which call of its choice: from 0, without holes, over the whole choice. */
  readonly call: number;
  /** Never empty; made up where the upstream gives none. */
  readonly id: string;
  readonly name: string;
  /** The JSON text of the arguments so far: all of it, or nothing yet. */
  readonly arguments: string;
  readonly providerData?: ProviderData | undefined;
}

/**
 * Why a choice ended. `other` is an end without a name that all share: it has output, and its word
 * stands in `native`.
 */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other';

/** How probable a token was, and what else could have stood there. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: JsonNumber;
  readonly top: readonly { readonly token: string; readonly logprob: JsonNumber }[];
}

/** A source; offsets count UTF-16 units of the choice's visible text, end exclusive. */
export interface Citation {
  readonly url: string;
  readonly title: string | undefined;
  readonly start: number | undefined;
  readonly end: number | undefined;
}

/** The figures of a reply; undefined is what the upstream did not say. */
export interface ReplyUsage {
  /** The cached ones among them. */
  readonly inputTokens: number;
  /** The reasoning ones among them. */
  readonly outputTokens: number;
  readonly cachedInputTokens: number | undefined;
  /** For five minutes and for an hour together. */
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
  /** How many of the cached tokens are audio, images and video, where the upstream says so. */
  readonly cachedMedia?: { readonly audio: number; readonly image: number; readonly video: number };
  readonly largestPassInputTokens?: number | undefined;
  readonly toolCalls?: ToolCalls | undefined;
}

/**
 * What the last usage object leaves open. `output`: how long the answer is, but for its reasoning.
 * `split`: it states nothing but the sum, which stands in `inputTokens`.
 */
export type UsageGap = 'output' | 'split' | undefined;

/**
 * The figures as a charge reads them, where the sum alone was stated: what was counted of the
 * answer is its output, and the rest its prompt, which every call has.
 */
export function splitUsage(usage: ReplyUsage, counted: number): Usage {
  const figures = chargeableUsage(usage);
  if (usage.gap !== 'split') return figures;
  const leastInput = Math.max(1, figures.cachedInputTokens);
  const answer = Math.max(0, Math.min(counted, figures.inputTokens - leastInput));
  return {
    ...figures,
    inputTokens: figures.inputTokens - answer,
    outputTokens: figures.outputTokens + answer,
  };
}

/** The same of a whole reply: where reasoning alone was stated, the answer counts beside it. */
export function usageOfWholeReply(usage: ReplyUsage, counted: () => number): Usage {
  if (usage.gap === 'split') return splitUsage(usage, counted());
  const figures = chargeableUsage(usage);
  // Without any figure of the output the settlement counts it, and says so in the record.
  if (usage.gap === undefined || figures.outputTokens === 0) return figures;
  return { ...figures, outputTokens: figures.outputTokens + counted() };
}

/** The figures as a charge reads them. */
export function chargeableUsage(usage: ReplyUsage): Usage {
  const { cacheWriteTokens: written, cacheWrite1hTokens: forAnHour, cachedMedia } = usage;
  return {
    inputTokens: usage.inputTokens,
    cachedInputTokens: usage.cachedInputTokens ?? 0,
    outputTokens: usage.outputTokens,
    images: 0,
    cacheWrite5mTokens: written === undefined ? undefined : written - (forAnHour ?? 0),
    cacheWrite1hTokens: forAnHour,
    reasoningTokens: usage.reasoningTokens,
    audioInputTokens: less(usage.audioInputTokens, cachedMedia?.audio),
    audioOutputTokens: usage.audioOutputTokens,
    imageInputTokens: less(usage.imageInputTokens, cachedMedia?.image),
    imageOutputTokens: usage.imageOutputTokens,
    videoInputTokens: less(usage.videoInputTokens, cachedMedia?.video),
    largestPassInputTokens: usage.largestPassInputTokens,
    toolCalls: usage.toolCalls,
  };
}

function less(tokens: number | undefined, cached = 0): number | undefined {
  return tokens === undefined ? undefined : Math.max(0, tokens - cached);
}
