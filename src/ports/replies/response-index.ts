/**
 * The port that knows which key a response or an output item at a provider belongs to, and on which
 * account it is stored. It holds ids only, never content.
 *
 * A gateway puts many callers behind one account of a provider, and any key of that account may use
 * any id. Without this index, whoever learned an id could read its owner's conversation.
 */
import type { CallOptions, MaybePromise } from '../call-options.ts';

/** What an id refers to. */
export interface IndexEntry {
  /** As the provider made it: `resp_…`, `rs_…`, `msg_…`; `/^[A-Za-z0-9_-]{1,128}$/`. */
  readonly id: string;
  /** The key's `responseOwner`, else its id. */
  readonly owner: string;
  /**
   * The account that has it: `credential:` and the name that the channel's `credential` gave, else
   * the channel's `account`, else the channel's id.
   */
  readonly account: string;
  /** The model that the caller named. */
  readonly modelId: string;
  /**
   * `sealed`: an item that its provider does not store, so that nothing can refer to it. The entry
   * tells which account can read its encrypted content.
   */
  readonly kind: 'response' | 'item' | 'sealed';
  /**
   * The most input tokens that a reference to it adds to a call: all tokens of a response, the
   * output tokens of an item's response. Undefined if the provider did not report them.
   */
  readonly maxTokens?: number;
  /** Unix ms; it is unknown from then on. */
  readonly expiresAtMs: number;
}

/** Remembers the responses and items of every key. Entries of different owners are independent. */
export interface ResponseIndex {
  /** `shared`: several processes see the same entries. */
  readonly durability: 'process' | 'shared';
  /** Adds all entries of one reply, at most 1,024. A later entry of an owner and id wins. */
  remember(entries: readonly IndexEntry[], options?: CallOptions): MaybePromise<void>;
  /**
   * The entries of these ids, at most 1,024, in their order. Undefined for an id that is unknown or
   * expired, and in the same way for another owner's.
   */
  find(
    owner: string,
    ids: readonly string[],
    options?: CallOptions,
  ): MaybePromise<readonly (IndexEntry | undefined)[]>;
  /** Removes entries of this owner. Unknown ids are ignored. */
  forget(owner: string, ids: readonly string[], options?: CallOptions): MaybePromise<void>;
  /**
   * Removes some entries of this owner, and returns how many: call it until it returns 0. For
   * operators who remove a key; the gateway does not call it, and an index may leave it out.
   */
  forgetOwner?(owner: string, options?: CallOptions): MaybePromise<number>;
}
