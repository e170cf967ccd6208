/** A call: a request read and found well-formed, with what later stages need to know of it. */
import type { Body } from './bytes/body.ts';
import type { Member } from './bytes/json-scan.ts';
import type { ProtocolName } from './ports/catalog.ts';

/** What a call asks an upstream to do. */
export type Operation = 'chat' | 'images' | 'generate' | 'count_tokens';

/**
 * How the reply is laid out: one document, server-sent events, or Google's array written piecemeal.
 */
export type Framing = 'json' | 'sse' | 'json_array';

/**
 * How much of the upstream a call can use up, from what the caller asked: the ground of the hold.
 */
export interface Demand {
  /** An upper estimate of the prompt's text. */
  readonly inputTokens: number;
  /** Images, sounds and files among the prompt, which bytes say nothing about. */
  readonly mediaParts: number;
  /** The caller's own bound for one candidate, or undefined. */
  readonly maxOutputTokens: number | undefined;
  /** `n` or `candidateCount`; images asked for. */
  readonly candidates: number;
  /** Images only: what the price depends on. */
  readonly size: string | undefined;
  readonly quality: string | undefined;
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
