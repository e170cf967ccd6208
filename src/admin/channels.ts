/** Channels and catalogs for operators: health and shares, how to change them, and checks. */

import { modelsFrom } from '../catalog/model-json.ts';
import type { ChannelChange, PublishedModel } from '../catalog/published-catalog.ts';
import { ConfigurationError, isConfigurationError } from '../errors.ts';
import type { HealthStatus } from '../events.ts';
import { isJsonObject, items, type JsonValue, member } from '../json.ts';
import type { Channel, ChannelCost, Model } from '../ports/catalog.ts';
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
    return audit.run(entry, () => change(deps, subject.target, edit));
  };
  return {
    list: () => modelChannels(deps),
    disable: (actor, channelId, { where = 'process' } = {}) =>
      audit.run(
        { actor, action: 'channel.disable', target: channelId, change: { where } },
        async () => {
          if (where === 'everywhere') return change(deps, channelId, { weight: 0 });
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
          const changed = await change(deps, channelId, { weight });
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
  channelId: string,
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
  const changed = await catalog.changeChannel(channelId, edit);
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
  const row = (channel: Channel, model: Model): ChannelRow => {
    const upstreamModel = channel.upstreamModel ?? model.id;
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

/** Whether a list of models could be published. */
export type CatalogCheck =
  | { readonly valid: true; readonly models: number; readonly problem: undefined }
  /** `problem` has a line for each wrong member, which names it and says what to do. */
  | { readonly valid: false; readonly models: number; readonly problem: string };

/** The catalog of a gateway. */
export interface AdminCatalogs {
  /**
   * Checks models in the form of docs/catalog.md, without resolving their secrets. Nothing is
   * stored or sent anywhere.
   */
  validate(models: JsonValue): Promise<CatalogCheck>;
  /**
   * Publishes models to a catalog in a database. No HTTP route does this: whoever sets the URL of a
   * channel receives its secret.
   *
   * @throws AdminError `not_supported`, `invalid_request`, `unavailable`
   */
  publish(actor: string, models: readonly PublishedModel[]): Promise<void>;
}

export function adminCatalogs({ stores: { catalog }, audit }: AdminDeps): AdminCatalogs {
  return {
    validate: async (list) => {
      const models = items(list).length;
      try {
        if (!Array.isArray(list)) throw new ConfigurationError('models must be a list.');
        await modelsFrom(items(list), referenceOf);
        return { valid: true, models, problem: undefined };
      } catch (error) {
        if (!isConfigurationError(error)) throw error;
        return { valid: false, models, problem: error.message };
      }
    },
    publish: (actor, models) =>
      audit.run(
        {
          actor,
          action: 'catalog.publish',
          target: undefined,
          change: { models: Array.isArray(models) ? models.length : 0 },
        },
        async () => {
          if (catalog?.publish === undefined) {
            throw notSupported('Models can’t be published to this catalog.', databaseCatalog);
          }
          await catalog.publish(models);
        },
      ),
  };
}

/** A placeholder for the secret. The reference must name a secret, and not contain one. */
async function referenceOf(value: JsonValue, path: string): Promise<string> {
  const env = member(value, 'env');
  const name = member(value, 'name');
  const isReference = isJsonObject(value) && Object.keys(value).length === 1;
  if (isReference && typeof env === 'string' && env !== '') return `env-${env}`.replace(/\W/g, '-');
  if (isReference && typeof name === 'string' && name !== '') {
    return `name-${name}`.replace(/\W/g, '-');
  }
  throw new ConfigurationError(
    `${path} must be { env: 'VARIABLE' } or { name: '…' }: the database holds no secrets.`,
  );
}
