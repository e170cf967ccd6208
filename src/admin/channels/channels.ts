/** Channels for operators: health and shares, switches, tests, and how to change the catalog. */
import type { ChannelChange } from '../../catalog/catalog-versions.ts';
import type { ChannelCost } from '../../ports/models/catalog.ts';
import type { ClusterStatus, SwitchPlace } from '../../stages/cluster.ts';
import { databaseCatalog, notSupported } from '../admin-error.ts';
import type { AuditChange, AuditSubject } from '../audit/audit.ts';
import { type AdminDeps, given } from '../deps.ts';
import type { AdminUsageReports } from '../usage/usage.ts';
import type { WalkOptions } from '../usage/walk-log.ts';
import { type AccountPage, type AccountQuery, accountPage } from './accounts.ts';
import { checkKnown, type ModelChannels, modelChannels, noChannel } from './list.ts';
import { type ChannelTested, channelTests, type TestOptions } from './tests.ts';

/** What was switched, and where the switch holds. */
export interface ChannelSwitched {
  /** The upstream account, by the `id` of its channel. */
  readonly channelId: string;
  /** Whether all processes apply it, or this one alone. */
  readonly where: SwitchPlace;
}

/** The result of a change of the catalog, which all processes apply. */
export interface ChannelChanged {
  /** The upstream account, by the `id` of its channel. */
  readonly channelId: string;
  /** The weights before, by model. */
  readonly before: readonly {
    /** The model, by its id in the catalog. */
    readonly modelId: string;
    /** The weight before the change. */
    readonly weight: number;
  }[];
}

/**
 * The channels of a gateway. The methods throw an `AdminError`: `not_supported` where the catalog
 * can't be listed or changed, `not_found`, `invalid_request` or `unavailable`.
 */
export interface AdminChannels {
  /** Every model with its channels, as this process sees them now. */
  list(): readonly ModelChannels[];
  /** By account: a row for each channel, the failing ones first. */
  accounts(query?: AccountQuery, options?: WalkOptions): Promise<AccountPage>;
  /** This process, and the others that share its switches. */
  replicas(): ClusterStatus;
  /**
   * Sends it no more calls: in all replicas, which follow within 5 s and also after a restart, or
   * without a shared store in this process, until it ends. Running calls continue.
   */
  disable(actor: string, channelId: string): Promise<ChannelSwitched>;
  /** The opposite of `disable`. Also clears what was recorded against the channel. */
  enable(actor: string, channelId: string): Promise<ChannelSwitched>;
  /**
   * Sends one short call through it, at most once a second in this process. It costs what the
   * upstream charges; no key is charged, and the health of the channel stays as it is.
   */
  test(actor: string, channelId: string, options?: TestOptions): Promise<ChannelTested>;
  /** Changes the share of calls of a channel; 0 takes none. */
  setWeight(
    actor: string,
    channelId: string,
    change: {
      /** The new weight, at least 0. */
      readonly weight: number;
      /** The only model that it is changed for. Default: all that the channel serves. */
      readonly modelId?: string;
    },
  ): Promise<ChannelChanged>;
  /** Changes when a channel is tried; lower is tried first. */
  setPriority(
    actor: string,
    channelId: string,
    change: {
      /** The new priority. */
      readonly priority: number;
      /** The only model that it is changed for. Default: all that the channel serves. */
      readonly modelId?: string;
    },
  ): Promise<ChannelChanged>;
  /** What the channel costs the operator; `null` removes the cost. */
  setCost(
    actor: string,
    channelId: string,
    change: {
      /** What the upstream charges: a price, or `'reported'`; `null` removes it. */
      readonly cost: ChannelCost | null;
      /** The only model that it is changed for. Default: all that the channel serves. */
      readonly modelId?: string;
    },
  ): Promise<ChannelChanged>;
}

export function adminChannels(deps: AdminDeps, report: AdminUsageReports['report']): AdminChannels {
  const { audit, gateway } = deps;
  const changeCatalog = (
    subject: Pick<AuditSubject, 'actor' | 'action'> & { readonly target: string },
    edit: ChannelChange,
    shown: AuditChange,
  ): Promise<ChannelChanged> => {
    const entry = { ...subject, change: { ...shown, modelId: edit.modelId ?? null } };
    return audit.run(
      entry,
      () => change(deps, subject, edit),
      ({ before }) => {
        const weights = new Set(before.map(({ weight }) => weight));
        const [weightBefore = null] = weights.size === 1 ? weights : [];
        return { change: { ...entry.change, ...('weight' in shown ? { weightBefore } : {}) } };
      },
    );
  };
  const switchTo = (isOff: boolean) => (actor: string, channelId: string) => {
    const action = isOff ? ('channel.disable' as const) : ('channel.enable' as const);
    return audit.run(
      { actor, action, target: channelId, change: {} },
      async (): Promise<ChannelSwitched> => {
        checkKnown(deps, channelId);
        return { channelId, where: await gateway.switchChannel({ channelId, isOff, actor }) };
      },
      ({ where }) => ({ change: { where } }),
    );
  };
  return {
    list: () => modelChannels(deps),
    accounts: (query, options) => accountPage(deps, report, query, options),
    replicas: () => gateway.cluster(),
    disable: switchTo(true),
    enable: switchTo(false),
    test: channelTests(deps),
    setWeight: (actor, target, { weight, modelId }) => {
      const edit = { weight, ...given({ modelId }) };
      return changeCatalog({ actor, action: 'channel.weight', target }, edit, { weight });
    },
    setPriority: (actor, target, { priority, modelId }) => {
      const edit = { priority, ...given({ modelId }) };
      return changeCatalog({ actor, action: 'channel.priority', target }, edit, { priority });
    },
    setCost: (actor, target, { cost, modelId }) => {
      const edit = { cost, ...given({ modelId }) };
      const per = cost === 'reported' ? cost : (cost?.per ?? null);
      return changeCatalog({ actor, action: 'channel.cost', target }, edit, { per });
    },
  };
}

async function change(
  { stores: { catalog } }: AdminDeps,
  { actor, target: channelId }: { readonly actor: string; readonly target: string },
  edit: ChannelChange,
): Promise<ChannelChanged> {
  if (catalog?.changeChannel === undefined) {
    throw notSupported(
      'The catalog can’t be changed here.',
      `Change it where it is kept. ${databaseCatalog}`,
    );
  }
  const before = (catalog.models?.() ?? []).flatMap((model) =>
    model.channels
      .filter(({ id }) => id === channelId)
      .map(({ weight = 1 }) => ({ modelId: model.id, weight })),
  );
  const changed = await catalog.changeChannel(channelId, edit, { actor });
  if (changed.length === 0) throw noChannel(channelId);
  return {
    channelId,
    before: before.filter(({ modelId }) => changed.includes(modelId)),
  };
}
