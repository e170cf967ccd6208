/**
 * A call: a request that has been read and validated, with the properties that later stages need.
 */
import type { Framing, Operation } from './apis.ts';
import type { Body } from './bytes/body/body.ts';
import type { Tape } from './bytes/json/tape.ts';
import type { CostMember } from './money.ts';
import type { ProtocolName } from './ports/models/catalog.ts';
import type { ReachMember } from './ports/models/reach-members.ts';

/** The kind of a part of a prompt whose tokens can't be estimated from its bytes. */
export type MediaKind = 'image' | 'audio' | 'video' | 'document' | 'reference';

export interface MediaUse {
  readonly kind: MediaKind;
  /** The size of the payload as sent, mostly Base64; 0 for a reference. */
  readonly bytes: number;
  /** Its path: `messages[0].content[1]`. */
  readonly at: string;
  /** It refers to a file of the upstream account. */
  readonly isFileId?: true;
  /** The tokens of what it refers to, if the gateway knows them. */
  readonly tokens?: number;
  /**
   * The factor by which settings in the request, such as a frame rate, may multiply its usual
   * tokens; `Infinity` if nothing bounds it.
   */
  readonly raisedBy?: number;
}

/** One of the inputs of a request that are prompts of their own, each with a context of its own. */
export interface InputSize {
  /** The bytes that may be text. */
  readonly textBytes: number;
  /** Tokens whose number is known exactly: the token ids that the caller sent. */
  readonly tokens: number;
  readonly media: readonly MediaUse[];
}

/** The parts of a request body's size on which its hold depends. */
export interface PromptSize {
  /** The bytes that may be text: the whole body except media payloads and encrypted reasoning. */
  readonly textBytes: number;
  /** The bytes of signatures and encrypted reasoning, which only their provider can read. */
  readonly sealedBytes: number;
  /** The number of elements in `messages`, `contents` or `input`. */
  readonly messages: number;
  readonly media: readonly MediaUse[];
  /**
   * Embeddings: the inputs. Then `textBytes` are those outside of all inputs, and `media` are those
   * of all inputs.
   */
  readonly inputs?: readonly InputSize[];
}

/** A member that raises a call's cost or reaches beyond it, with a value that has an effect. */
export interface GuardedUse {
  readonly row: CostMember | ReachMember;
  /** Its path: `tools[1].googleSearch`. */
  readonly at: string;
  readonly models: readonly string[];
  /** The number of tokens, completions or images; undefined if the value is no number. */
  readonly amount?: number;
  /** Only for tools: how often the provider may call it, if the caller says so. */
  readonly maxCalls?: number;
  /** Only for `other_tools`: the type as the caller spells it; undefined if it is no text. */
  readonly toolType?: string;
  /** Only for `output_modalities`: the requested modalities other than text, in lower case. */
  readonly modalities?: readonly string[];
}

/** The maximum that a call can consume upstream, from which its hold is computed. */
export interface Demand {
  readonly prompt: PromptSize;
  /** The size of Chat's `prediction`: its rejected tokens are billed as output. */
  readonly predictedBytes: number;
  /** The caller's output bound for one candidate; undefined if it sets none. */
  readonly maxOutputTokens: number | undefined;
  /** `n` or `candidateCount`, or the number of requested images. */
  readonly candidates: number;
  /** Only for images: the properties on which the price depends. */
  readonly size: string | undefined;
  readonly quality: string | undefined;
  /** The caller's bound of the calls of tools that run at the provider. */
  readonly maxToolCalls?: number | undefined;
  /** Usually empty; see `protocols/guarded-members.ts`. */
  readonly guarded: readonly GuardedUse[];
}

/** A part of a request that refers to something stored, or that only one account can read. */
export interface Reference {
  /**
   * `reply`: an earlier reply, which the call continues. `item`: an output item of which only the
   * id was sent. `incomplete`: an item that its provider would complete from what it has stored,
   * and that means the same without it elsewhere. `sealed`: content that only the account which
   * encrypted it can read. `local`: an item of a translated reply that no provider can use.
   */
  readonly kind: 'reply' | 'item' | 'incomplete' | 'sealed' | 'local';
  /** As the caller sent it; undefined if sealed content has none. */
  readonly id: string | undefined;
  /** The gateway made the id, so that no provider knows it. */
  readonly isOwn: boolean;
  /** Without it, the call is still the same conversation. */
  readonly isRemovable: boolean;
  /** Its path: `input[3].id`. */
  readonly at: string;
  /** Its place in a list; undefined if it is a member of the body itself. */
  readonly element: ElementPlace | undefined;
  readonly sealedBytes: number;
}

export interface ElementPlace {
  readonly member: string;
  readonly index: number;
}

export interface Call {
  readonly protocol: ProtocolName;
  readonly operation: Operation;
  /** The id that the caller sent. */
  readonly modelId: string;
  /** The path named the model of an API whose bodies name it: what the body says does not count. */
  readonly isModelInPath: boolean;
  readonly framing: Framing;
  /** The caller's bytes, after the scan. */
  readonly body: Body;
  readonly tape: Tape;
  readonly demand: Demand;
  /** Chat and Responses: the key under which the caller wants its prompts cached. */
  readonly promptCacheKey: string | undefined;
  /** Chat streams: the caller requested the usage frame. */
  readonly wantsUsage: boolean;
  /** The body has more values than a translation accepts. */
  readonly isTooComplex?: boolean;
  readonly references?: readonly Reference[] | undefined;
}
