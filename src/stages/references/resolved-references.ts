/** What a call's references refer to, once the stores were asked about them. */
import type { Reference } from '../../call.ts';

export interface ResolvedReferences {
  /** The account that has what the call refers to. No other can serve it. */
  readonly requiredAccount: string | undefined;
  /** The account that can read the encrypted content of the call, or the latest part of it. */
  readonly preferredAccount: string | undefined;
  /** Items of translated replies, which take the place of the references to them. */
  readonly keptItems: readonly KeptItem[];
  readonly keptBytes: number;
  readonly sealed: readonly SealedContent[];
  /** Items of translated replies that no provider can use. */
  readonly local: readonly Reference[];
  /**
   * Items that a provider would complete from what it has stored, maybe for another key. A call
   * with such items is not relayed.
   */
  readonly unverified: readonly Reference[];
  /** An upstream could not read encrypted content of unknown origin, so it is left out. */
  leavesOutUnknown: boolean;
  mustResend: boolean;
}

export interface KeptItem {
  readonly reference: Reference;
  /** The same object for all references to one item. */
  readonly json: Uint8Array;
}

export interface SealedContent {
  readonly reference: Reference;
  readonly account: string | undefined;
}
