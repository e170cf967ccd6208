/**
 * The replies by their names in the OpenAPI document. `npm run generate` writes their schemas, in
 * reply-schemas.json, from these types and their comments.
 */
import type { FailureReason } from '../../failure-reasons.ts';
import type { Reconciliation } from '../../stores/sql/reconcile.ts';
import type { AdminErrorCode } from '../admin-error.ts';
import type { CallPage, CallsOfRequest, Resolved } from '../calls.ts';
import type { CatalogCheck, ChannelChanged, ModelChannels } from '../channels.ts';
import type { Page } from '../deps.ts';
import type { KeySummary } from '../key-summary.ts';
import type { RotatedKey, ToppedUpKey } from '../keys.ts';
import type { Now } from '../now.ts';
import type { RefusalReason, RefusalReportPage } from '../refusals.ts';
import type { UsageReportPage } from '../usage.ts';
import type { AdminSession } from './request.ts';

/** What routes answer, before it is written as JSON; and parts with a name of their own. */
export interface Replies {
  readonly Books: { readonly data: readonly Reconciliation[] };
  readonly CallPage: CallPage;
  readonly CallsOfRequest: CallsOfRequest;
  readonly CatalogCheck: CatalogCheck;
  readonly ChannelChanged: ChannelChanged;
  readonly Error: ErrorReply;
  readonly FailureReason: FailureReason;
  readonly IssuedKey: IssuedKeyReply;
  readonly Key: KeySummary;
  readonly KeyPage: Page<KeySummary>;
  readonly Models: { readonly data: readonly ModelChannels[] };
  readonly Names: { readonly data: readonly string[] };
  readonly Now: Now;
  readonly RefusalReasons: { readonly data: readonly RefusalReason[] };
  readonly Refusals: RefusalReportPage;
  readonly RemovedKey: Readonly<Record<never, never>>;
  readonly Resolution: Resolved;
  readonly RotatedKey: IssuedKeyReply & Pick<RotatedKey, 'replaced'>;
  readonly Session: Omit<AdminSession, 'via'>;
  readonly ToppedUpKey: ToppedUpKey;
  readonly Usage: UsageReportPage;
}

export type ReplyName = keyof Replies;

export type Reply<Name extends ReplyName> = JsonOf<Replies[Name]>;

interface ErrorReply {
  readonly error: {
    readonly code: AdminErrorCode;
    readonly message: string;
    /** The member or parameter that is wrong. */
    readonly field?: string;
  };
}

interface IssuedKeyReply {
  /** Shown once. */
  readonly secret: string;
  readonly key: {
    readonly id: string;
    /** Unix ms; a key that replaces another one expires when that one would have. */
    readonly expiresAtMs: number | undefined;
  };
  /** Why the key may be of no use, such as that no model has its group. */
  readonly warning: string | undefined;
}

/** The JSON of a type, as `jsonTextOf` writes it: amounts are strings, and undefined is null. */
type JsonOf<T> = T extends bigint
  ? string
  : T extends undefined
    ? null
    : T extends object
      ? { readonly [Name in keyof T]: JsonOf<T[Name]> }
      : T;
