/** A call: a request read and found well-formed, with what later stages need to know of it. */
import type { Body } from './bytes/body/body.ts';
import type { Member } from './bytes/json/scan/scan.ts';
import type { CostMember } from './money.ts';
import type { ProtocolName, ReachMember } from './ports/catalog.ts';

/**
 * How the reply is laid out: one document, server-sent events, or Google's array written piecemeal.
 */
export type Framing = 'json' | 'sse' | 'json_array';

/** The name of an operation: what a dialect's paths and codecs are found by. */
export type OperationName = 'content' | 'images' | 'count_tokens';

/** What a call asks an upstream to do, and what follows from it for every stage. */
export interface Operation {
  readonly name: OperationName;
  /** Neither held nor charged. */
  readonly isFree: boolean;
  /**
   * Bought with the request: it goes out once, on a connection of its own, and is finished and
   * charged though its caller leaves.
   */
  readonly isBoughtOnce: boolean;
  /** The reply is images, and its usage says how many. */
  readonly makesImages: boolean;
  /** The column of the charge policy. */
  chargedAs(framing: Framing): 'whole' | 'streamed' | 'image';
  /** Calls that keep their callers waiting alike for a first byte. */
  waitsAs(framing: Framing): 'whole' | 'streamed' | 'image' | 'count';
}

const byFraming = (framing: Framing): 'whole' | 'streamed' =>
  framing === 'json' ? 'whole' : 'streamed';

/** Every operation by its name. */
export const operations: Readonly<Record<OperationName, Operation>> = {
  content: {
    name: 'content',
    isFree: false,
    isBoughtOnce: false,
    makesImages: false,
    chargedAs: byFraming,
    waitsAs: byFraming,
  },
  images: {
    name: 'images',
    isFree: false,
    isBoughtOnce: true,
    makesImages: true,
    chargedAs: () => 'image',
    waitsAs: () => 'image',
  },
  count_tokens: {
    name: 'count_tokens',
    isFree: true,
    isBoughtOnce: false,
    makesImages: false,
    chargedAs: byFraming,
    waitsAs: () => 'count',
  },
};

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
  /** The number it asks for, of tokens, answers or images; undefined where it is no number. */
  readonly amount?: number;
  /** `output_modalities` only: what it requests beside text, in lower case. */
  readonly modalities?: readonly string[];
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
