/** Channels for operators: health and shares, and how to change them. */
import type { ChannelChange } from '../catalog/catalog-versions.ts';
import type { HealthStatus } from '../events.ts';
import type { Channel, ChannelCost } from '../ports/catalog.ts';
import type { ListedModel } from '../ports/listed-model.ts';
import { upstreamModelOf } from '../ports/model-defaults.ts';
import { platformText } from '../ports/platform.ts';
import type { ChannelStatus } from '../upstream/channel-status.ts';
import { AdminError, databaseCatalog, notSupported } from './admin-error.ts';
import type { AuditChange, AuditSubject } from './audit.ts';
import { type Explained, explained } from './call-summary.ts';
import { type AdminDeps, given } from './deps.ts';

/** A channel of a model, as it is now in this process. */
export interface ChannelRow extends HealthStatus, Explained {
  readonly channelId: string;
  readonly dialect: string;
  /** The platform that hosts it, and where: `bedrock us-east-1`; undefined for none. */
  readonly platform: string | undefined;
  /** The channel's name for the model. */
  readonly upstreamModel: string;
  readonly priority: number;
  readonly weight: number;
  /** The groups whose keys may use it; undefined for all groups of the model. */
  readonly groups: readonly string[] | undefined;
  /** How many calls are running on it, for any model. */
  readonly inFlight: number;
  readonly maxConcurrentCalls: number | undefined;
  /**
   * The 95th percentile of the time to the first byte in the last hour; undefined without calls.
   */
  readonly firstByteP95Ms: number | undefined;
  /** Whether the catalog states what the channel costs the operator. */
  readonly hasCost: boolean;
}

/** A model and its channels, by priority. */
export interface ModelChannels {
  readonly modelId: string;
  readonly aliases: readonly string[];
  /** The groups whose keys may use it. */
  readonly groups: readonly string[];
  readonly channels: readonly ChannelRow[];
}

/** `everywhere` means in all processes, through the catalog in a database. */
export type SwitchPlace = 'process' | 'everywhere';

/** How a channel is enabled or disabled. */
export interface ChannelSwitch {
  /** Default: `process`. */
  readonly where?: SwitchPlace;
  /** For `enable` everywhere: the weight that it gets. Default: 1. */
  readonly weight?: number;
}

/** The result of a change. */
export interface ChannelChanged {
  readonly channelId: string;
  readonly where: SwitchPlace;
  /** The weights before, by model; empty for a switch in this process. */
  readonly before: readonly { readonly modelId: string; readonly weight: number }[];
}

/**
 * The channels of a gateway. The methods throw an `AdminError`: `not_supported` where the catalog
 * can't be listed or changed, `not_found`, `invalid_request` or `unavailable`.
 */
export interface AdminChannels {
  list(): readonly ModelChannels[];
  /**
   * `process`: until the process ends or enables the channel. `everywhere`: sets its weight to 0.
   */
  disable(actor: string, channelId: string, options?: ChannelSwitch): Promise<ChannelChanged>;
  /** Clears its recorded failures in this process; `everywhere` also sets its weight. */
  enable(actor: string, channelId: string, options?: ChannelSwitch): Promise<ChannelChanged>;
  setWeight(
    actor: string,
    channelId: string,
    change: { readonly weight: number; readonly modelId?: string },
  ): Promise<ChannelChanged>;
  setPriority(
    actor: string,
    channelId: string,
    change: { readonly priority: number; readonly modelId?: string },
  ): Promise<ChannelChanged>;
  /** What the channel costs the operator; `null` removes the cost. */
  setCost(
    actor: string,
    channelId: string,
    change: { readonly cost: ChannelCost | null; readonly modelId?: string },
  ): Promise<ChannelChanged>;
}

export function adminChannels(deps: AdminDeps): AdminChannels {
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
  return {
    list: () => modelChannels(deps),
    disable: (actor, channelId, { where = 'process' } = {}) =>
      audit.run(
        { actor, action: 'channel.disable', target: channelId, change: { where } },
        async () => {
          if (where === 'everywhere') {
            return change(deps, { actor, target: channelId }, { weight: 0 });
          }
          checkKnown(deps, channelId);
          gateway.disableChannel(channelId);
          return { channelId, where, before: [] };
        },
      ),
    enable: (actor, channelId, { where = 'process', weight = 1 } = {}) =>
      audit.run(
        { actor, action: 'channel.enable', target: channelId, change: { where } },
        async () => {
          checkKnown(deps, channelId);
          if (where === 'process') gateway.enableChannel(channelId);
          if (where === 'process') return { channelId, where, before: [] };
          const changed = await change(deps, { actor, target: channelId }, { weight });
          gateway.enableChannel(channelId);
          return changed;
        },
      ),
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
      `Change it where it is kept. ${databaseCatalog} To switch a channel in one process only, ` +
        'leave out --everywhere (in code, where).',
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
    where: 'everywhere',
    before: before.filter(({ modelId }) => changed.includes(modelId)),
  };
}

/** Without this check, a misspelt id would change nothing and report success. */
function checkKnown({ stores: { catalog }, gateway }: AdminDeps, channelId: string): void {
  const models = catalog?.models?.();
  const isServed = models?.some(({ channels }) => channels.some(({ id }) => id === channelId));
  const wasCalled = gateway.channels().some((status) => status.channelId === channelId);
  if (isServed === false && !wasCalled) throw noChannel(channelId);
}

function noChannel(channelId: string): AdminError {
  return new AdminError('not_found', `There is no channel "${channelId.slice(0, 128)}".`);
}

export function modelChannels({ gateway, stores, live }: AdminDeps): readonly ModelChannels[] {
  const statuses = new Map(gateway.channels().map((status) => [status.channelId, status]));
  const row = (channel: Channel, model: ListedModel): ChannelRow => {
    const upstreamModel = upstreamModelOf(channel, model);
    const { priority = 0, weight = 1, groups, maxConcurrentCalls } = channel;
    const status = statuses.get(channel.id);
    return {
      ...{ channelId: channel.id, dialect: channel.dialect, upstreamModel },
      platform: platformText(channel.platform),
      ...{ priority, weight, groups },
      inFlight: status?.inFlight ?? 0,
      maxConcurrentCalls,
      firstByteP95Ms: live.channelP95Ms(channel.id),
      hasCost: channel.cost !== undefined,
      ...healthFor(status, upstreamModel),
    };
  };
  return (stores.catalog?.models?.() ?? []).map((model) => ({
    modelId: model.id,
    aliases: model.aliases ?? [],
    groups: model.groups,
    channels: model.channels
      .map((channel) => row(channel, model))
      .sort((one, other) => one.priority - other.priority),
  }));
}

/** The health of the account, or that of the model on it if only the model has a problem. */
function healthFor(
  status: ChannelStatus | undefined,
  upstreamModel: string,
): HealthStatus & Explained {
  const own = status?.models.find((model) => model.upstreamModel === upstreamModel);
  const health = status === undefined || status.state !== 'ready' ? status : (own ?? status);
  const { state = 'ready', reason, untilMs } = health ?? {};
  return { state, reason, untilMs, ...explained(reason) };
}
