/** Channels and catalogs for operators: health and shares, how to change them, and checks. */

import { modelsFrom } from '../catalog/model-json.ts';
import type { ChannelChange, PublishedModel } from '../catalog/published-catalog.ts';
import { ConfigurationError, isConfigurationError } from '../errors.ts';
import { isJsonObject, items, type JsonValue, member } from '../json.ts';
import type { ChannelCost } from '../ports/catalog.ts';
import type { ClusterStatus, SwitchPlace } from '../stages/cluster.ts';
import { type AccountPage, type AccountQuery, accountPage } from './accounts.ts';
import { databaseCatalog, notSupported } from './admin-error.ts';
import type { AuditChange, AuditSubject } from './audit.ts';
import { checkKnown, type ModelChannels, modelChannels, noChannel } from './channel-list.ts';
import { type ChannelTested, channelTests, type TestOptions } from './channel-tests.ts';
import { type AdminDeps, given } from './deps.ts';
import type { AdminUsageReports, WalkOptions } from './usage.ts';

/** What was switched, and where the switch holds. */
export interface ChannelSwitched {
  readonly channelId: string;
  readonly where: SwitchPlace;
}

/** The result of a change of the catalog, which all processes apply. */
export interface ChannelChanged {
  readonly channelId: string;
  /** The weights before, by model. */
  readonly before: readonly { readonly modelId: string; readonly weight: number }[];
}

/**
 * The channels of a gateway. The methods throw an `AdminError`: `not_supported` where the catalog
 * can't be listed or changed, `not_found`, `invalid_request` or `unavailable`.
 */
export interface AdminChannels {
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

export function adminChannels(deps: AdminDeps, report: AdminUsageReports['report']): AdminChannels {
  const { audit, gateway } = deps;
  const changeCatalog = (
    subject: Pick<AuditSubject, 'actor' | 'action'> & { readonly target: string },
    edit: ChannelChange,
    shown: AuditChange,
  ): Promise<ChannelChanged> => {
    const entry = { ...subject, change: { ...shown, modelId: edit.modelId ?? null } };
    return audit.run(entry, () => change(deps, subject.target, edit));
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
  channelId: string,
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
  const changed = await catalog.changeChannel(channelId, edit);
  if (changed.length === 0) throw noChannel(channelId);
  return {
    channelId,
    before: before.filter(({ modelId }) => changed.includes(modelId)),
  };
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
        await modelsFrom(items(list), { credential: referenceOf, prices: () => undefined });
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
