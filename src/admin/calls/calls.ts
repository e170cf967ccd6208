/** Calls for operators: find one, list the latest, and resolve one in doubt. */
import type { MaybePromise } from '../../ports/call-options.ts';
import type { CallOutcome, UsageRecord } from '../../ports/usage-sink.ts';
import type { ResolveResult, UnknownResolution } from '../../stages/settle/resolve-unknown.ts';
import {
  checkFilter,
  type UsagePage,
  type UsageRecordFilter,
  type UsageRecordPage,
} from '../../stores/sql/usage/report.ts';
import { AdminError, notSupported, queriedLog } from '../admin-error.ts';
import { type AdminDeps, maxPage, type Page, type PageQuery, pageOf } from '../deps.ts';
import {
  type CallDetail,
  type CallSummary,
  callDetail,
  callSummary,
  type RefusalSummary,
  refusalSummary,
  type SeenRefusal,
} from './summary.ts';

/** Selects calls of the usage log, and requests that this process refused. */
export interface CallListQuery extends PageQuery, Omit<UsageRecordFilter, 'outcome'> {
  /** `refused`: only refused requests. */
  readonly outcome?: CallOutcome | 'refused';
  /** Only requests that were refused with this error code. */
  readonly code?: string;
}

/** A page of calls and refused requests, newest first. */
export interface CallPage extends Page<CallSummary | RefusalSummary> {
  /**
   * Where the calls come from. `log`: the usage log of all processes. `process`: the latest 200 of
   * this process. Refused requests are always those that this process remembers.
   */
  readonly source: 'log' | 'process';
}

/** Everything that is known about one request id. */
export interface CallsOfRequest {
  /** The `x-request-id` of the reply. */
  readonly requestId: string;
  /** One, or several if the caller chose one id for them. */
  readonly calls: readonly CallDetail[];
  /** Refusals of this process with this id. */
  readonly refusals: readonly RefusalSummary[];
}

/** What an operator found out about a call in doubt. */
export type Resolution = UnknownResolution & {
  /** Needed only where several calls in doubt have the same request id. */
  readonly reservationId?: string;
};

/** The calls of a usage log. The methods throw an `AdminError`. */
export interface AdminCalls {
  /** The calls of the log, the latest first. */
  list(query?: CallListQuery): Promise<CallPage>;
  /** @throws AdminError `not_found` */
  find(requestId: string): Promise<CallsOfRequest>;
  /**
   * Ends the hold of a call in doubt, as `gateway.resolveUnknown` does. The status is `already` if
   * the hold had ended in the same way before; if it had ended in another way, it is a `conflict`.
   *
   * @throws AdminError `not_found`, `conflict`, `not_supported`
   */
  resolve(actor: string, requestId: string, resolution: Resolution): Promise<Resolved>;
}

/** How the hold of a call in doubt has ended. */
export type Resolved = Exclude<ResolveResult, { readonly status: 'conflict' }>;

export function adminCalls(deps: AdminDeps): AdminCalls {
  return {
    list: (query = {}) => listCalls(deps, query),
    find: (requestId) => findCalls(deps, requestId),
    resolve: (actor, requestId, resolution) => {
      const { ran } = resolution;
      const chargeNanos = resolution.ran ? resolution.chargeNanos : undefined;
      const change = { ran, chargeNanos: chargeNanos === undefined ? null : String(chargeNanos) };
      return deps.audit.run({ actor, action: 'call.resolve', target: requestId, change }, () =>
        resolve(deps, requestId, resolution),
      );
    },
  };
}

async function listCalls(deps: AdminDeps, query: CallListQuery): Promise<CallPage> {
  const { stores, live } = deps;
  const { usage } = stores;
  const { code, outcome, after, limit: _limit, ...names } = query;
  const ofCalls = outcome === undefined || outcome === 'refused' ? names : { ...names, outcome };
  checkFilter(ofCalls);
  const refusals = live
    .recentRefusals()
    .filter((refusal) => (code ?? refusal.code) === refusal.code && matches(refusal, query))
    .map(refusalSummary);
  if (code !== undefined || outcome === 'refused') {
    return { ...pageOf(refusals, query), source: 'process' };
  }
  if (usage.usageRecords === undefined) {
    if (query.metadata !== undefined) {
      throw notSupported('Calls can’t be found by their metadata.', queriedLog);
    }
    const calls = live.recentCalls().filter((call) => matches(call, query));
    return { ...pageOf(newestFirst([...calls, ...refusals]), query), source: 'process' };
  }
  return windowedCalls(query, refusals, (page) => usage.usageRecords?.(ofCalls, page));
}

/**
 * Pages through windows of the log: a hundred calls, and the refusals of their time. A cursor is a
 * position in a window, the time before which it begins, and the log's own cursor.
 */
async function windowedCalls(
  query: PageQuery,
  refusals: readonly RefusalSummary[],
  read: (page: UsagePage) => MaybePromise<UsageRecordPage | undefined>,
): Promise<CallPage> {
  const { after = `0 ${Number.MAX_SAFE_INTEGER} ` } = query;
  const [, position = 'none', before, cursor = ''] = /^(\d+) (\d+) (.*)$/.exec(after) ?? [];
  const start = cursor === '' ? {} : { after: cursor };
  const { records = [], next } =
    (await read({ limit: maxPage, newestFirst: true, ...start })) ?? {};
  const sinceMs = next === undefined ? 0 : (records.at(-1)?.startedAtMs ?? 0);
  const within = refusals.filter(({ atMs }) => atMs >= sinceMs && atMs < Number(before));
  const window = newestFirst([...records.map(callSummary), ...within]);
  const shown = pageOf(window, { ...query, after: position });
  const following = next === undefined ? undefined : `0 ${sinceMs} ${next}`;
  const rest = shown.next === undefined ? undefined : `${shown.next} ${before} ${cursor}`;
  return { data: shown.data, next: rest ?? following, source: 'log' };
}

function newestFirst<T extends CallSummary | SeenRefusal>(entries: readonly T[]): readonly T[] {
  return entries.toSorted((one, other) => timeOf(other) - timeOf(one));
}

function timeOf(entry: CallSummary | SeenRefusal): number {
  return entry.kind === 'call' ? entry.startedAtMs : entry.atMs;
}

function matches(entry: CallSummary | SeenRefusal, filter: CallListQuery): boolean {
  const { fromMs = 0, toMs = Number.MAX_SAFE_INTEGER, keyId, group, modelId, requestId } = filter;
  // Refused requests have no metadata: a guard, which may add some, has not seen them all.
  if (filter.metadata !== undefined) return false;
  const atMs = timeOf(entry);
  const channelId = entry.kind === 'call' ? entry.channelId : undefined;
  const outcome = entry.kind === 'call' ? entry.outcome : 'refused';
  const is = (wanted: string | undefined, value: string | undefined): boolean =>
    wanted === undefined || wanted === value;
  return (
    atMs >= fromMs &&
    atMs < toMs &&
    is(keyId, entry.keyId) &&
    is(group, entry.group) &&
    is(modelId, entry.modelId) &&
    is(requestId, entry.requestId) &&
    is(filter.channelId, channelId) &&
    is(filter.outcome, outcome)
  );
}

async function findCalls(deps: AdminDeps, requestId: string): Promise<CallsOfRequest> {
  const refusals = deps.live.recentRefusals().filter((entry) => entry.requestId === requestId);
  const records = await recordsOf(deps, requestId);
  if (records.length === 0 && refusals.length === 0) throw noCall(requestId);
  return { requestId, calls: records.map(callDetail), refusals: refusals.map(refusalSummary) };
}

async function recordsOf(
  { stores: { usage } }: AdminDeps,
  requestId: string,
): Promise<readonly UsageRecord[]> {
  if (usage.usageRecords === undefined) {
    throw notSupported('The usage log can’t list single calls.', queriedLog);
  }
  return (await usage.usageRecords({ requestId }, { limit: 100 })).records;
}

async function resolve(
  deps: AdminDeps,
  requestId: string,
  { reservationId, ...resolution }: Resolution,
): Promise<Resolved> {
  const all = await recordsOf(deps, requestId);
  if (all.length === 0) throw noCall(requestId);
  const records = all.filter(
    (record) => reservationId === undefined || record.reservationId === reservationId,
  );
  const [record, other] = records.filter(({ outcome, booked }) => outcome === 'unknown' && !booked);
  if (record === undefined) return resolvedBefore(records, resolution);
  if (other !== undefined) {
    const message = 'Several calls in doubt have this request id. Name one by its reservationId.';
    throw new AdminError('conflict', message, { field: 'reservationId' });
  }
  const result = await deps.gateway.resolveUnknown(record, resolution);
  if (result.status === 'conflict') throw endedOtherwise('it was released');
  deps.live.state.inDoubt.delete(record.reservationId);
  if (result.status !== 'already') return result;
  if ('as' in result) {
    if (result.as === 'settled') throw endedOtherwise('it was charged');
  } else if (!isCharge(result.charged, record, resolution)) {
    throw endedOtherwise('another amount was charged');
  }
  return result;
}

/** The same resolution again, once the log shows the first one. */
function resolvedBefore(records: readonly UsageRecord[], resolution: UnknownResolution): Resolved {
  const record = records.find(({ reason }) => reason === 'resolved');
  if (record === undefined) {
    throw new AdminError('conflict', 'This call is not in doubt. It needs no resolution.');
  }
  const { outcome, chargeNanos, lines } = record;
  if (resolution.ran !== (outcome === 'complete')) {
    throw endedOtherwise(resolution.ran ? 'it was released' : 'it was charged');
  }
  if (!resolution.ran) return { status: 'already', as: 'released' };
  const charged = lines.map(({ heldNanos }) => (heldNanos === 0n ? 0n : chargeNanos));
  if (!isCharge(charged, record, resolution)) throw endedOtherwise('another amount was charged');
  return { status: 'already', charged };
}

/** Whether the amount that was charged before is the one that the operator states now. */
function isCharge(
  charged: readonly bigint[],
  { lines, heldNanos }: UsageRecord,
  resolution: UnknownResolution,
): boolean {
  const chargeNanos = resolution.ran ? (resolution.chargeNanos ?? heldNanos) : 0n;
  return charged.every(
    (amount, index) => amount === (lines[index]?.heldNanos === 0n ? 0n : chargeNanos),
  );
}

/** The first resolution counts, also when the log still showed the call as in doubt. */
function endedOtherwise(how: string): AdminError {
  return new AdminError(
    'conflict',
    `The hold of this call has already ended: ${how}. Nothing was changed.`,
  );
}

function noCall(requestId: string): AdminError {
  return new AdminError('not_found', `No call with the id "${requestId.slice(0, 128)}" is known.`);
}
