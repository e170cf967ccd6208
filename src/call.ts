/** A call: a request read and found well-formed, with what later stages need to know of it. */
import type { Body } from './bytes/body.ts';
import type { Member } from './bytes/json-scan.ts';
import type { CostMember, ProtocolName, ReachMember } from './ports/catalog.ts';

/** What a call asks an upstream to do. */
export type Operation = 'chat' | 'images' | 'generate' | 'count_tokens';

/**
 * How the reply is laid out: one document, server-sent events, or Google's array written piecemeal.
 */
export type Framing = 'json' | 'sse' | 'json_array';

/** What a part of a prompt is, where its bytes say little or nothing about its tokens. */
export type MediaKind = 'image' | 'audio' | 'video' | 'document' | 'reference';

/** One image, recording or document of a prompt, or one thing that it only names. */
export interface MediaUse {
  readonly kind: MediaKind;
  /** The payload's bytes as they were sent, mostly Base64; 0 for a reference. */
  readonly bytes: number;
  /** Where it stands: `messages[0].content[1]`. */
  readonly at: string;
  /** It names a file of the upstream account. */
  readonly isFileId?: true;
}

/** The size of a request body, as far as its hold depends on it. */
export interface PromptSize {
  /** Every byte that may be text: the whole body but media payload and sealed reasoning. */
  readonly textBytes: number;
  /** Bytes of signatures and encrypted reasoning, which only their provider can read. */
  readonly sealedBytes: number;
  /** Elements of `messages` or `contents`. */
  readonly messages: number;
  readonly media: readonly MediaUse[];
}

/** A member of a call that raises its cost or reaches beyond it, with a value that matters. */
export interface GuardedUse {
  readonly row: CostMember | ReachMember;
  /** Where it stands: `tools[1].googleSearch`. */
  readonly at: string;
  /** The models that it names; empty where it names none. */
  readonly models: readonly string[];
  /** `reasoning_budget` only: how many tokens are asked for. */
  readonly tokens?: number;
  /** `output_modalities` only: nothing but text and images is asked for. */
  readonly isImagesOnly?: boolean;
}

/** How much of the upstream a call can use up, by what the caller sent. The hold rests on it. */
export interface Demand {
  readonly prompt: PromptSize;
  /** Chat's `prediction`: tokens of it that the model rejects are billed as output. */
  readonly predictedBytes: number;
  /** The caller's own bound for one candidate, or undefined. */
  readonly maxOutputTokens: number | undefined;
  /** `n` or `candidateCount`; images asked for. */
  readonly candidates: number;
  /** Images only: what the price depends on. */
  readonly size: string | undefined;
  readonly quality: string | undefined;
  /** Mostly empty: see `protocols/guarded-members.ts`. */
  readonly guarded: readonly GuardedUse[];
}

/** A request that was read and found well-formed. */
export interface Call {
  readonly protocol: ProtocolName;
  readonly operation: Operation;
  /** As the caller named it. */
  readonly modelId: string;
  readonly framing: Framing;
  /** The caller's bytes, scanned. */
  readonly body: Body;
  /** Their spans are places in the text of the body. */
  readonly members: readonly Member[];
  readonly demand: Demand;
  /** Chat: what the caller wants its prompts cached under. */
  readonly promptCacheKey: string | undefined;
  /** Chat streams: the caller itself asked for the usage frame. */
  readonly wantsUsage: boolean;
  /** The body has more values than a translation takes. */
  readonly isTooComplex?: boolean;
}
