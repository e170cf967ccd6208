/**
 * The replies by their names in the OpenAPI document. `npm run generate` writes their schemas, in
 * reply-schemas.json, from these types and their comments.
 */

import type { CatalogVersion } from '../../catalog/catalog-versions.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import type { PriceJson } from '../../prices/price-json.ts';
import type { ClusterStatus } from '../../stages/cluster.ts';
import type { Reconciliation } from '../../stores/sql/reconcile.ts';
import type { AdminErrorCode, AdminProblem } from '../admin-error.ts';
import type { AuditTrailPage } from '../audit/audit.ts';
import type { CallPage, CallsOfRequest, Resolved } from '../calls/calls.ts';
import type { RefusalReason, RefusalReportPage } from '../calls/refusals.ts';
import type { CatalogCheck, PricePreview, VersionDiff } from '../catalog/catalog.ts';
import type { CatalogModel } from '../catalog/models.ts';
import type { AccountPage } from '../channels/accounts.ts';
import type { ChannelChanged, ChannelSwitched } from '../channels/channels.ts';
import type { ModelChannels } from '../channels/list.ts';
import type { ChannelTested } from '../channels/tests.ts';
import type { Page } from '../deps.ts';
import type { IssuedBatch } from '../keys/batch.ts';
import type { RotatedKey, ToppedUpKey } from '../keys/keys.ts';
import type { OwnerDetail, OwnerSummary, ToppedUpOwner } from '../keys/owners.ts';
import type { KeySummary } from '../keys/summary.ts';
import type { Now } from '../now/now.ts';
import type { UsageLatency, UsageSeries } from '../usage/series.ts';
import type { UsageReportPage } from '../usage/usage.ts';
import type { AdminSession } from './request.ts';

/** What routes answer, before it is written as JSON; and parts with a name of their own. */
export interface Replies {
  readonly Accounts: AccountPage;
  readonly Audit: AuditTrailPage;
  readonly Books: { readonly data: readonly Reconciliation[] };
  readonly CallPage: CallPage;
  readonly CallsOfRequest: CallsOfRequest;
  readonly Catalog: { readonly data: readonly CatalogModel[] };
  readonly CatalogCheck: CatalogCheck;
  readonly CatalogDiff: VersionDiff;
  readonly CatalogHistory: { readonly data: readonly CatalogVersion[] };
  readonly CatalogVersion: CatalogVersion;
  readonly ChannelChanged: ChannelChanged;
  readonly ChannelSwitched: ChannelSwitched;
  readonly ChannelTested: ChannelTested;
  readonly Cluster: ClusterStatus;
  readonly Error: ErrorReply;
  readonly FailureReason: FailureReason;
  readonly IssuedBatch: IssuedBatch;
  readonly IssuedKey: IssuedKeyReply;
  readonly Key: KeySummary;
  readonly KeyPage: Page<KeySummary>;
  readonly Models: { readonly data: readonly ModelChannels[] };
  readonly Names: { readonly data: readonly string[] };
  readonly Now: Now;
  readonly Owner: OwnerSummary;
  readonly OwnerDetail: OwnerDetail;
  readonly OwnerPage: Page<OwnerSummary>;
  readonly PriceJson: PriceJson;
  readonly PricePreview: PricePreview;
  readonly RefusalReasons: { readonly data: readonly RefusalReason[] };
  readonly Refusals: RefusalReportPage;
  readonly Removed: Readonly<Record<never, never>>;
  readonly Resolution: Resolved;
  readonly RotatedKey: IssuedKeyReply & Pick<RotatedKey, 'replaced'>;
  readonly Session: Omit<AdminSession, 'via'>;
  readonly ToppedUpKey: ToppedUpKey;
  readonly ToppedUpOwner: ToppedUpOwner;
  readonly Usage: UsageReportPage;
  readonly UsageLatencies: { readonly data: readonly UsageLatency[] };
  readonly UsageSeries: UsageSeries;
}

export type ReplyName = keyof Replies;

export type Reply<Name extends ReplyName> = JsonOf<Replies[Name]>;

interface ErrorReply {
  readonly error: {
    readonly code: AdminErrorCode;
    readonly message: string;
    /** The member or parameter that is wrong. */
    readonly field?: string;
    /** All that is wrong, at most 100 problems, if more than one was found or it is in a batch. */
    readonly problems?: readonly AdminProblem[];
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
