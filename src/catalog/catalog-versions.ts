/**
 * The versions of a catalog in a table: publishing, changing, comparing and going back. Each one
 * follows the version that it was made from, so that no change is lost.
 */
import {
  isJsonObject,
  items,
  type JsonValue,
  jsonWithBigints,
  member,
  parseJson,
} from '../json.ts';
import type { Price } from '../money.ts';
import { type MaybePromise, StoreUnavailable } from '../ports/call-options.ts';
import type { ChannelCost } from '../ports/models/catalog.ts';
import { type CatalogDifference, catalogDiff } from './catalog-diff.ts';
import type { JsonSources } from './model-json.ts';
import {
  checkedModels,
  costToJson,
  modelToJson,
  type PublishedModel,
  priceJsonValue,
  publishable,
} from './published-models.ts';

/** Who publishes a version, why, and what it must follow. */
export interface PublishOptions {
  /** For the history. Default: unknown. */
  readonly actor?: string;
  /** For the history: up to 500 characters. Default: none. */
  readonly note?: string;
  /**
   * Publishes only if this is still the newest version, so that no change of another is replaced
   * unseen. 0: only if nothing has been published. Default: replaces whatever is the newest.
   */
  readonly after?: number;
}

/** A published version, as the history has it. */
export interface CatalogVersion {
  /** Versions only grow. */
  readonly version: number;
  /** When it was published, in Unix ms. */
  readonly atMs: number;
  /** Who published it; undefined if nobody was named. */
  readonly actor: string | undefined;
  /** What the publisher wrote about it; undefined if nothing. */
  readonly note: string | undefined;
  /**
   * What it changed in the version before it, at most 100 differences; undefined for versions of
   * packages that did not record it.
   */
  readonly changes: readonly CatalogDifference[] | undefined;
  /** How many more differences there were. */
  readonly moreChanges: number;
}

/** What may be changed of a published channel; members that are left out stay as they are. */
export interface ChannelChange {
  /** Its share of the calls within one priority; 0 takes none. */
  readonly weight?: number;
  /** Lower is tried first. */
  readonly priority?: number;
  /** What it costs the operator; `null` removes it. */
  readonly cost?: ChannelCost | null;
  /** Changes the channel in this model alone. Default: in all its models. */
  readonly modelId?: string;
}

/** The versions of a published catalog. The latest 100 are kept. */
export interface CatalogVersions {
  /**
   * Writes a new version and serves it here immediately; other processes serve it after their next
   * poll. A version that this process can't serve, even if only a secret is missing, is not
   * written, because a starting gateway would have no other version to serve.
   *
   * @throws ConfigurationError that names each mistake and says how to fix it; an error named
   *   `CatalogConflict` where the newest version is not `after`; StoreUnavailable
   */
  publish(models: readonly PublishedModel[], options?: PublishOptions): Promise<CatalogVersion>;
  /** The same for models in the JSON form of docs/catalog.md. */
  publishJson(models: readonly JsonValue[], options?: PublishOptions): Promise<CatalogVersion>;
  /**
   * Publishes a version in which a channel has another weight, priority or cost, in all its models
   * or in one. Returns the ids of the changed models; where there are none, nothing is published.
   *
   * @throws ConfigurationError, as `publish` does; StoreUnavailable where other processes keep
   *   publishing
   */
  changeChannel(
    channelId: string,
    change: ChannelChange,
    options?: Omit<PublishOptions, 'after'>,
  ): Promise<readonly string[]>;
  /**
   * Publishes a version in which a model has another price; undefined if it is not in the newest.
   *
   * @throws as `publish` does
   */
  changePrice(
    modelId: string,
    price: Price,
    options?: PublishOptions,
  ): Promise<CatalogVersion | undefined>;
  /** The kept versions, the newest first. */
  history(): Promise<readonly CatalogVersion[]>;
  /**
   * The models of a version in JSON, by default of the newest; undefined if it is not kept. With
   * nothing published, the newest is version 0 without models.
   */
  read(version?: number): Promise<StoredCatalog | undefined>;
  /**
   * Publishes the models of a kept version again; undefined if it is not kept.
   *
   * @throws as `publish` does
   */
  rollback(version: number, options?: PublishOptions): Promise<CatalogVersion | undefined>;
}

/** The models of a version. */
export interface StoredCatalog {
  /** The number of the version. */
  readonly version: number;
  /** The models in JSON, as they were published. */
  readonly models: readonly JsonValue[];
}

/** Another version than the expected one is the newest. */
class CatalogConflict extends Error {
  override readonly name = 'CatalogConflict';
  /** The newest version. */
  readonly newest: number;

  constructor(newest: number) {
    super(
      `Version ${newest} was published in the meantime. ` +
        'Look at what it changed, and publish again.',
    );
    this.newest = newest;
  }
}

/** The table of versions. Versions only grow; 0 means that nothing has been published. */
export interface CatalogTable {
  version(): MaybePromise<bigint>;
  /**
   * A version, by default the newest, with its models as JSON text; version 0 where there is none.
   * Undefined if it is not kept.
   */
  read(version?: bigint): MaybePromise<StoredVersion | undefined>;
  /** Adds a version if `after` is still the newest, and returns whether it did. */
  add(version: NewVersion): MaybePromise<boolean>;
  /** The newest first, without models. */
  history(): MaybePromise<readonly CatalogVersion[]>;
}

interface StoredVersion {
  readonly version: bigint;
  readonly models: string;
}

export interface NewVersion {
  readonly models: string;
  readonly after: bigint;
  readonly actor: string | undefined;
  readonly note: string | undefined;
  /** The differences as JSON text. */
  readonly changes: string;
}

/** What a version is checked with before it is published. */
interface VersionChecks {
  /** The name of the function that makes the catalog, for error messages. */
  readonly maker: string;
  readonly table: CatalogTable;
  readonly sources: () => JsonSources;
  /** Called after a version was published. */
  readonly published?: () => Promise<void>;
}

/** How often an edit is tried while other processes publish. */
const maxTries = 20;
const maxChanges = 100;
const maxNoteLength = 500;

/** The edited models; undefined if there is nothing to change. */
type Edit = (models: readonly JsonValue[]) => MaybePromise<readonly JsonValue[] | undefined>;

interface Published {
  readonly entry: CatalogVersion;
  readonly models: readonly JsonValue[];
  readonly before: readonly JsonValue[];
}

export function catalogVersions(checks: VersionChecks): CatalogVersions {
  const { maker, table, sources, published = async () => {} } = checks;
  const commit = async (
    edit: Edit,
    options: PublishOptions = {},
  ): Promise<Published | undefined> => {
    const result = await committed(checks, edit, options);
    if (result !== undefined) await published();
    return result;
  };
  const read = async (version?: number): Promise<StoredCatalog | undefined> => {
    const found = await table.read(version === undefined ? undefined : BigInt(version));
    return found && { version: Number(found.version), models: modelsOf(found) };
  };
  return {
    publish: async (models, options) => {
      const list = await publishable(maker, models.map(modelToJson), sources());
      return entryOf(await commit(() => list, options));
    },
    publishJson: async (models, options) => {
      const list = await publishable(maker, models, sources());
      return entryOf(await commit(() => list, options));
    },
    changeChannel: async (channelId, change, options) => {
      const edit: Edit = (models) => {
        const edited = models.map((model) => withChangedChannel(model, channelId, change));
        return edited.some((model, index) => model !== models[index]) ? edited : undefined;
      };
      const { models = [], before = [] } = (await commit(edit, options)) ?? {};
      const changed = models.filter((model, index) => model !== before[index]);
      return changed.map((model) => String(member(model, 'id')));
    },
    changePrice: async (modelId, price, options) => {
      const json = priceJsonValue(price, 'price');
      const edit: Edit = (models) =>
        models.some((model) => member(model, 'id') === modelId)
          ? models.map((model) => withPrice(model, modelId, json))
          : undefined;
      return (await commit(edit, options))?.entry;
    },
    history: async () => table.history(),
    read,
    rollback: async (version, options) => {
      const found = await read(version);
      if (found === undefined || version === 0) return undefined;
      const note = options?.note ?? `rollback to version ${version}`;
      return (await commit(() => found.models, { ...options, note }))?.entry;
    },
  };
}

function entryOf(published: Published | undefined): CatalogVersion {
  // An edit that always returns models is always published.
  if (published === undefined) throw new TypeError('nothing was published');
  return published.entry;
}

/** Publishes an edit of the newest version; tries again where another process was faster. */
async function committed(
  { maker, table, sources }: VersionChecks,
  edit: Edit,
  { actor, note, after }: PublishOptions,
): Promise<Published | undefined> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const newest = (await table.read()) ?? { version: 0n, models: '[]' };
    if (after !== undefined && BigInt(after) !== newest.version) {
      throw new CatalogConflict(Number(newest.version));
    }
    const before = modelsOf(newest);
    const models = await edit(before);
    if (models === undefined) return undefined;
    await checkedModels(maker, models, sources());
    const changes = catalogDiff(before, models);
    const version = {
      models: jsonWithBigints(models),
      after: newest.version,
      actor,
      note: note?.slice(0, maxNoteLength),
      changes: changesText(changes),
    };
    if (!(await table.add(version))) continue;
    const entry = (await table.history()).find((one) => one.version === Number(newest.version) + 1);
    if (entry === undefined) throw new StoreUnavailable('the new version is gone');
    return { entry, models, before };
  }
  throw new StoreUnavailable('other processes kept publishing', { outcome: 'not_done' });
}

function modelsOf({ models }: Pick<StoredVersion, 'models'>): readonly JsonValue[] {
  return items(parseJson(models));
}

function changesText(changes: readonly CatalogDifference[]): string {
  const shown = changes.slice(0, maxChanges);
  return JSON.stringify({ changes: shown, more: changes.length - shown.length });
}

/** The recorded differences of a version; none where they were not recorded. */
export function recordedChanges(
  text: string | undefined,
): Pick<CatalogVersion, 'changes' | 'moreChanges'> {
  if (text === undefined) return { changes: undefined, moreChanges: 0 };
  const recorded = parseJson(text);
  const changes = items(member(recorded, 'changes')).map((change) => ({
    modelId: textIn(change, 'modelId') ?? '',
    member: textIn(change, 'member') ?? '',
    before: textIn(change, 'before'),
    after: textIn(change, 'after'),
  }));
  return { changes, moreChanges: Number(member(recorded, 'more') ?? 0) };
}

function textIn(value: JsonValue, name: string): string | undefined {
  const text = member(value, name);
  return typeof text === 'string' ? text : undefined;
}

/** The model with the changed channel, or the same value if it does not have it. */
function withChangedChannel(
  model: JsonValue,
  channelId: string,
  { modelId, cost, weight, priority }: ChannelChange,
): JsonValue {
  const channels = items(member(model, 'channels'));
  const isMeant = modelId === undefined || member(model, 'id') === modelId;
  if (!isMeant || !isJsonObject(model)) return model;
  if (!channels.some((channel) => member(channel, 'id') === channelId)) return model;
  const shares = {
    ...(weight === undefined ? {} : { weight }),
    ...(priority === undefined ? {} : { priority }),
  };
  const edit = (channel: JsonValue): JsonValue => {
    if (!isJsonObject(channel) || member(channel, 'id') !== channelId) return channel;
    const { cost: before, ...rest } = channel;
    const costJson = cost === undefined ? before : cost === null ? undefined : costToJson(cost);
    return { ...rest, ...shares, ...(costJson === undefined ? {} : { cost: costJson }) };
  };
  return { ...model, channels: channels.map(edit) };
}

function withPrice(model: JsonValue, modelId: string, price: JsonValue): JsonValue {
  return isJsonObject(model) && member(model, 'id') === modelId ? { ...model, price } : model;
}
