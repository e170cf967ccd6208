/**
 * Channels by account: how each has served lately, what failed last, and what it was used for. The
 * attempts are those of this process; calls and money come from the usage log, if it can be read.
 */
import { isStoreCorrupt, isStoreUnavailable } from '../../ports/call-options.ts';
import { type HealthStatus, healthStates, worstState } from '../../ports/health-status.ts';
import { type Explained, explained } from '../calls/summary.ts';
import { type AdminDeps, maxPage } from '../deps.ts';
import type { ChannelFailure, RecentAttempts } from '../now/live-channels.ts';
import { pagesOf } from '../pages.ts';
import type { AdminUsageReports } from '../usage/usage.ts';
import type { WalkOptions } from '../usage/walk-log.ts';
import { type ChannelRow, modelChannels } from './list.ts';

/** The span of the calls. Default: the last hour. */
export interface AccountQuery {
  /** Unix ms, inclusive. */
  readonly fromMs?: number;
  /** Unix ms, exclusive. */
  readonly toMs?: number;
}

/** One model that an account serves. */
export type AccountModel = {
  /** The model, by its id in the catalog. */
  readonly modelId: string;
} & Pick<ChannelRow, 'upstreamModel' | 'priority' | 'weight' | 'state' | 'reason' | 'untilMs'>;

/** A channel with all its models: the account of an operator at a provider. */
export interface AccountRow
  extends HealthStatus,
    Explained,
    Pick<ChannelRow, 'channelId' | 'dialect' | 'platform' | 'inFlight' | 'maxConcurrentCalls'>,
    Pick<ChannelRow, 'switched' | 'replicas'> {
  /** The failing ones first. */
  readonly models: readonly AccountModel[];
  /** Its attempts in this process, in the last hour. */
  readonly recent: RecentAttempts;
  /** The last failure that this process has seen; undefined if there was none. */
  readonly lastFailure: (ChannelFailure & Explained) | undefined;
  /** The calls that it served, or that tried it last. */
  readonly calls: number;
  /** What keys were charged for these calls, in nanos. */
  readonly chargeNanos: bigint;
  /** Undefined if the channel states no cost. */
  readonly costNanos: bigint | undefined;
}

/** All accounts, the failing ones first. */
export interface AccountPage {
  /** `log`: calls and money of all processes in the span. `process`: of this one, last hour. */
  readonly source: 'log' | 'process';
  /** Unix ms, inclusive. */
  readonly fromMs: number;
  /** Unix ms, exclusive. */
  readonly toMs: number;
  /** A row for each account, the failing ones first. */
  readonly data: readonly AccountRow[];
}

const hourMs = 3_600_000;

export async function accountPage(
  deps: AdminDeps,
  report: AdminUsageReports['report'],
  query: AccountQuery = {},
  options?: WalkOptions,
): Promise<AccountPage> {
  const { clock, stores } = deps;
  const toMs = query.toMs ?? clock.now() + 1;
  const span = { fromMs: query.fromMs ?? toMs - hourMs, toMs };
  const canReport = stores.usage.usageReport !== undefined;
  const used = canReport ? await usedIn(report, span, options) : undefined;
  const data = accountRows(deps, used);
  return used === undefined
    ? { source: 'process', fromMs: clock.now() - hourMs, toMs: clock.now(), data }
    : { source: 'log', ...span, data };
}

type Used = ReadonlyMap<string, Pick<AccountRow, 'calls' | 'chargeNanos' | 'costNanos'>>;

/** Undefined if the log fails: what this process knows is shown anyway. */
async function usedIn(
  report: AdminUsageReports['report'],
  span: { readonly fromMs: number; readonly toMs: number },
  options: WalkOptions | undefined,
): Promise<Used | undefined> {
  const used = new Map<string, Pick<AccountRow, 'calls' | 'chargeNanos' | 'costNanos'>>();
  try {
    const query = { by: 'channel', ...span, limit: maxPage } as const;
    for await (const { data } of pagesOf((page) => report({ ...query, ...page }, options))) {
      for (const { names, calls, chargeNanos, costNanos } of data) {
        used.set(names[0] ?? '', { calls, chargeNanos, costNanos });
      }
    }
    return used;
  } catch (error) {
    if (!isStoreUnavailable(error) && !isStoreCorrupt(error)) throw error;
    return undefined;
  }
}

function accountRows(deps: AdminDeps, used: Used | undefined): readonly AccountRow[] {
  const rows = new Map<string, { readonly channel: ChannelRow; readonly models: AccountModel[] }>();
  for (const { modelId, channels } of modelChannels(deps)) {
    for (const channel of channels) {
      const { upstreamModel, priority, weight, state, reason, untilMs } = channel;
      const known = rows.get(channel.channelId) ?? { channel, models: [] };
      known.models.push({ modelId, upstreamModel, priority, weight, state, reason, untilMs });
      rows.set(channel.channelId, known);
    }
  }
  return [...rows.values()]
    .map(({ channel, models }) => accountRow(deps, channel, models, used))
    .sort(failingFirst);
}

function accountRow(
  { live }: AdminDeps,
  channel: ChannelRow,
  models: readonly AccountModel[],
  used: Used | undefined,
): AccountRow {
  const { channelId, dialect, platform, inFlight, maxConcurrentCalls, switched, replicas } =
    channel;
  const state = worstState(models.map((model) => model.state));
  const { reason, untilMs } = models.find((model) => model.state === state) ?? channel;
  const { recent, lastFailure, served } = live.channel(channelId);
  const none = { calls: 0, chargeNanos: 0n, costNanos: undefined };
  return {
    ...{ channelId, dialect, platform, inFlight, maxConcurrentCalls, switched, replicas },
    ...{ state, reason, untilMs, ...explained(reason) },
    models: models.toSorted((one, other) => rankOf(one) - rankOf(other)),
    recent,
    lastFailure: lastFailure && { ...lastFailure, ...explained(lastFailure.reason) },
    ...(used === undefined ? served : (used.get(channelId) ?? none)),
  };
}

/** The worst has the lowest. */
function rankOf({ state }: Pick<HealthStatus, 'state'>): number {
  return healthStates.indexOf(state);
}

/** One that somebody has disabled needs nobody. */
function failingFirst(one: AccountRow, other: AccountRow): number {
  const failing = ({ state }: AccountRow): number =>
    state === 'off' ? healthStates.length : rankOf({ state });
  const share = ({ recent: { attempts, failures } }: AccountRow): number =>
    attempts === 0 ? 0 : failures / attempts;
  return (
    failing(one) - failing(other) ||
    share(other) - share(one) ||
    other.calls - one.calls ||
    (one.channelId < other.channelId ? -1 : 1)
  );
}
