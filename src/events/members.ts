/** What several events have: ids of the call, its key, model and channel, or of a file. */
import type { ProtocolName } from '../ports/models/catalog.ts';

export interface OfReply {
  /** The `x-request-id` of the reply. Callers choose it, so that two calls may have the same. */
  readonly requestId: string;
}

export interface OfKey {
  /** The key, by its id; never its secret. */
  readonly keyId: string;
  /** The group of the key. */
  readonly group: string;
  /** The API of the call, such as `chat` or `responses`. */
  readonly protocol: ProtocolName;
}

export interface OfModel {
  /** The model, by its id in the catalog. */
  readonly modelId: string;
}

export interface OfChannel {
  /** The upstream account, by the `id` of its channel. */
  readonly channelId: string;
}

export interface OfFile {
  /** The path of the file. */
  readonly source: string;
}

export interface RefusedFile extends OfFile {
  /** What is wrong with it, and what to do. */
  readonly reason: string;
}

export interface OfCall extends OfReply {
  /** The id of the call's hold in the quota store, unique for each call. */
  readonly reservationId: string;
}

export interface OfAttempt extends OfCall, OfModel, OfChannel {
  /** The number of the attempt within the call, from 1. */
  readonly attempt: number;
  /** The channel's name for the model. */
  readonly upstreamModel: string;
  /**
   * The account that the channel's `credential` named, else the channel's `account`; undefined if
   * there is neither, or if `credential` failed.
   */
  readonly account: string | undefined;
}

/** The caller of a request that did not become a call. */
export interface OfRequest extends OfReply {
  /** Undefined if no key's record was found. A refused request may have a key that is not valid. */
  readonly keyId: string | undefined;
  /** The group of the key; undefined if no key's record was found. */
  readonly group: string | undefined;
  /** Undefined for a path that is no call, such as the list of models. */
  readonly protocol: ProtocolName | undefined;
  /** The id of the model in the catalog; undefined if it was not looked up, or is not in it. */
  readonly modelId: string | undefined;
}
