/** What is different in a dialect's calls where a platform hosts the models. */
import type { Framing, OperationName } from '../apis.ts';
import { parseBounded } from '../bounded-json.ts';
import type { MemberEdit } from '../bytes/body/splice.ts';
import type { Tape } from '../bytes/json/tape.ts';
import type { Span } from '../bytes/json/text.ts';
import type { HeaderMap } from '../http.ts';
import { isJsonObject } from '../json.ts';
import type { UpstreamResponse } from '../ports/upstream-client.ts';

/** The form of a credential: a provider's key, a token of a cloud, or the keys of AWS. */
export type CredentialForm = 'secret' | 'token' | 'aws';

export interface AccountSecret {
  /** For the keys of AWS, JSON text of `accessKeyId`, `secretAccessKey`, perhaps `sessionToken`. */
  readonly secret: string;
  readonly form: CredentialForm;
}

/** The texts that nobody may see. */
export function secretParts(account: AccountSecret | undefined): readonly string[] {
  if (account === undefined) return [];
  if (account.form !== 'aws') return [account.secret];
  const keys = parseBounded(account.secret);
  return isJsonObject(keys) ? Object.values(keys).filter((part) => typeof part === 'string') : [];
}

export interface HostedCall {
  readonly operation: OperationName;
  readonly framing: Framing;
  readonly upstreamModel: string;
}

export interface HostedRequest extends HostedCall {
  /** The body as the dialect's own provider would get it, but for its edits. */
  readonly tape: Tape;
  /** What the caller sent to be forwarded, in lower case: `anthropic-version`, `anthropic-beta`. */
  readonly headers: HeaderMap;
  /** The query that is forwarded, with its question mark: `?beta=true`. */
  readonly search: string;
  /** The channel's own headers, in lower case. */
  readonly channelHeaders: HeaderMap;
}

export interface HostedEdits {
  /** They win over the protocol's own, such as the name of the model. */
  readonly edits: readonly MemberEdit[];
  /** Parts of the values of kept members, in order. */
  readonly cuts: readonly Span[];
  /** Sent in place of the forwarded ones. */
  readonly headers: HeaderMap;
  readonly search: string;
  /** What was left out, as `x-tollgate-dropped` lists it. A strict model refuses the call. */
  readonly dropped: readonly string[];
}

export interface SignedRequest {
  readonly method: string;
  /** `https://host:port` */
  readonly origin: string;
  /** Path and query, as they are sent. */
  readonly path: string;
  readonly headers: HeaderMap;
  readonly body: readonly Uint8Array[];
  /** As in {@link AccountSecret}, of the form `aws`. */
  readonly secret: string;
  readonly nowMs: number;
}

export interface Hosting {
  /**
   * Path and query below the base URL.
   *
   * @param path those of the dialect's own provider, of a call or of a stored reply
   */
  path(path: string, call: HostedCall): string;
  /**
   * False for an operation whose bodies have another form here, so that its calls are translated.
   * Absent if all are relayed.
   */
  relays?(operation: OperationName): boolean;
  /** What changes in a request. Absent if nothing does. */
  edit?(request: HostedRequest): HostedEdits;
  /** The channel's own headers that `edit` moves elsewhere, in lower case. */
  readonly withheld?: readonly string[];
  /** Wraps the whole body of a request. */
  wrap?(body: readonly Uint8Array[], call: HostedCall): readonly Uint8Array[];
  /** Returns the headers that sign a request. Absent where keys of AWS mean nothing. */
  sign?(request: SignedRequest): Promise<HeaderMap>;
  /** Gives a response the form that the dialect's own provider would give it. */
  open?(response: UpstreamResponse, call: HostedCall): UpstreamResponse;
}
