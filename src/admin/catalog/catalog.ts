/**
 * The catalog for operators: its models with their prices, how to change a price, and the versions
 * of a catalog in a database.
 */
import { type CatalogDifference, catalogDiff } from '../../catalog/catalog-diff.ts';
import type {
  CatalogVersion,
  CatalogVersions,
  PublishOptions,
  StoredCatalog,
} from '../../catalog/catalog-versions.ts';
import type { PublishedModel } from '../../catalog/published-models.ts';
import { ConfigurationError, isConfigurationError } from '../../errors.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../json.ts';
import type { Nanos, Price } from '../../money.ts';
import { formatMoney } from '../../prices/amount.ts';
import { costOf } from '../../prices/cost.ts';
import { priceSchema } from '../../prices/schema.ts';
import type { UsageReportRow } from '../../stores/sql/usage/report.ts';
import { AdminError, databaseCatalog, notSupported } from '../admin-error.ts';
import type { AuditChange, AuditSubject } from '../audit/audit.ts';
import type { AdminCatalog, AdminDeps } from '../deps.ts';
import { adminUsage } from '../usage/usage.ts';
import { type CatalogModel, catalogModel, writtenPrice } from './models.ts';

/** Whether a list of models could be published. */
export type CatalogCheck =
  | {
      readonly valid: true;
      /** How many models and wildcards the list has. */
      readonly models: number;
      readonly problem: undefined;
    }
  /** `problem` has a line for each wrong member, which names it and says what to do. */
  | {
      readonly valid: false;
      /** How many models and wildcards the list has. */
      readonly models: number;
      /** A line for each wrong member, with what to do. */
      readonly problem: string;
    };

/**
 * Sums over the last 30 days of the usage log; undefined if the log can't be queried. The two costs
 * are those of the same tokens, at the rates without tiers, fees and multipliers: compare them with
 * each other. They are undefined where sums of tokens don't decide, as for images of several sizes.
 */
interface PriceEstimate {
  /** How many calls the estimate rests on. */
  readonly calls: number | undefined;
  /** What was charged. */
  readonly chargedNanos: bigint | undefined;
  /** What they cost at the price until now, in nanos. */
  readonly beforeNanos: Nanos | undefined;
  /** What they would have cost at the new price, in nanos. */
  readonly afterNanos: Nanos | undefined;
}

/** What another price of a model would change. */
export interface PricePreview extends PriceEstimate {
  /** The model, by its id in the catalog. */
  readonly modelId: string;
  /** The newest version; pass it as `after`. */
  readonly version: number;
  /** What the new price changes in the newest version. */
  readonly differences: readonly CatalogDifference[];
}

/** The versions to compare. */
export interface VersionRange {
  /** Default: the version before `to`. */
  readonly from?: number;
  /** Default: the newest. */
  readonly to?: number;
}

/** What two versions differ in. */
export interface VersionDiff {
  /** The number of the earlier version. */
  readonly from: number;
  /** The number of the later version. */
  readonly to: number;
  /** Each member that differs, by model. */
  readonly differences: readonly CatalogDifference[];
}

/**
 * The catalog of a gateway. Versions need a catalog in a database. The methods throw an
 * `AdminError`: `not_supported`, `invalid_request`, `not_found`, `conflict` where another version
 * was published in the meantime, `unavailable`.
 */
export interface AdminCatalogs {
  /** All models and wildcards, with their prices and the costs of their channels. */
  models(): readonly CatalogModel[];
  /**
   * Checks models in the form of docs/catalog.md, without resolving their secrets. Nothing is
   * stored or sent anywhere.
   */
  validate(models: JsonValue): Promise<CatalogCheck>;
  /**
   * Publishes models to a catalog in a database. No HTTP route does this: whoever sets the URL of a
   * channel receives its secret.
   */
  publish(
    actor: string,
    models: readonly PublishedModel[],
    options?: Omit<PublishOptions, 'actor'>,
  ): Promise<CatalogVersion>;
  /** The same for models in the JSON form of docs/catalog.md. */
  publishJson(
    actor: string,
    models: readonly JsonValue[],
    options?: Omit<PublishOptions, 'actor'>,
  ): Promise<CatalogVersion>;
  /** The kept versions, the newest first: who published each, when, and what it changed. */
  history(): Promise<readonly CatalogVersion[]>;
  /** The models of a version in JSON, by default of the newest. */
  read(version?: number): Promise<StoredCatalog>;
  /** What two versions differ in, by default the newest and the one before it. */
  diff(range?: VersionRange): Promise<VersionDiff>;
  /** What publishing these models would change in the newest version. */
  diffWith(models: readonly JsonValue[]): Promise<VersionDiff>;
  /** Publishes the models of an old version again. */
  rollback(
    actor: string,
    version: number,
    options?: Omit<PublishOptions, 'actor'>,
  ): Promise<CatalogVersion>;
  /** What a price would change, and what the last 30 days would have cost at it. */
  previewPrice(modelId: string, price: Price): Promise<PricePreview>;
  /** Changes the price of a model for all processes. Running calls keep their price. */
  setPrice(
    actor: string,
    modelId: string,
    change: Omit<PublishOptions, 'actor'> & {
      /** The new price, for callers. */
      readonly price: Price;
    },
  ): Promise<CatalogVersion>;
}

export function adminCatalogs(deps: AdminDeps): AdminCatalogs {
  const read = (version?: number): Promise<StoredCatalog> => storedCatalog(deps, version);
  const change = changer(deps);
  return {
    models: () => (deps.stores.catalog?.models?.() ?? []).map(catalogModel),
    validate,
    publish: (actor, models, options) =>
      change(publishing(actor, models, options?.note), (versions) =>
        versions.publish(models, { ...options, actor }),
      ),
    publishJson: (actor, models, options) =>
      change(publishing(actor, models, options?.note), (versions) =>
        versions.publishJson(models, { ...options, actor }),
      ),
    history: async () => versionsOf(deps).history(),
    read,
    diff: async ({ from, to } = {}) => {
      const newer = await read(to);
      const older = await read(from ?? Math.max(0, newer.version - 1));
      const differences = catalogDiff(older.models, newer.models);
      return { from: older.version, to: newer.version, differences };
    },
    diffWith: async (models) => {
      const { version, models: before } = await read();
      return { from: version, to: version + 1, differences: catalogDiff(before, models) };
    },
    rollback: (actor, version, options) =>
      change(
        { actor, action: 'catalog.rollback', target: String(version), change: {} },
        (versions) => versions.rollback(version, { ...options, actor }),
        noVersion(version),
      ),
    previewPrice: (modelId, price) => previewPrice(deps, modelId, price),
    setPrice: (actor, modelId, { price, ...options }) =>
      change(
        { actor, action: 'model.price', target: modelId, change: pricing(deps, modelId, price) },
        (versions) => versions.changePrice(modelId, price, { ...options, actor }),
        noModel(modelId),
      ),
  };
}

/** Runs a change of the versions; undefined from it becomes `not_found` with this message. */
function changer({ stores, audit }: AdminDeps) {
  return (
    subject: AuditSubject,
    run: (versions: CatalogVersions) => Promise<CatalogVersion | undefined>,
    missing = '',
  ): Promise<CatalogVersion> =>
    audit.run(
      subject,
      async () => {
        const published = await run(versionsOf({ stores }));
        if (published === undefined) throw new AdminError('not_found', missing);
        return published;
      },
      ({ version }) => ({ change: { ...subject.change, version } }),
    );
}

function publishing(actor: string, models: unknown, note = ''): AuditSubject {
  const change = { models: Array.isArray(models) ? models.length : 0, note };
  return { actor, action: 'catalog.publish', target: undefined, change };
}

/** An invalid price is refused later, with an entry that lacks it. */
function pricing(deps: AdminDeps, modelId: string, price: Price): AuditChange {
  const before = priceNow(deps, modelId);
  return {
    ...(before === undefined ? {} : { priceBefore: priceText(before) }),
    price: priceSchema.safeParse(price).success ? priceText(price) : null,
  };
}

function versionsOf({ stores: { catalog } }: Pick<AdminDeps, 'stores'>): CatalogVersions {
  if (catalog !== undefined && hasVersions(catalog)) return catalog;
  throw notSupported('This catalog has no versions and can’t be changed.', databaseCatalog);
}

function hasVersions(catalog: AdminCatalog): catalog is AdminCatalog & CatalogVersions {
  const { publish, publishJson, changeChannel, changePrice, history, read, rollback } = catalog;
  const all = [publish, publishJson, changeChannel, changePrice, history, read, rollback];
  return all.every((method) => method !== undefined);
}

async function storedCatalog(deps: AdminDeps, version?: number): Promise<StoredCatalog> {
  const found = await versionsOf(deps).read(version);
  if (found === undefined) throw new AdminError('not_found', noVersion(version ?? 0));
  return found;
}

function noVersion(version: number): string {
  return `There is no version ${version}. The latest 100 are kept.`;
}

function noModel(modelId: string): string {
  return `There is no model "${modelId.slice(0, 128)}" in the newest version.`;
}

/** Undefined for an unknown model, and for a wildcard whose prices come from a list. */
function priceNow({ stores: { catalog } }: AdminDeps, modelId: string): Price | undefined {
  const price = catalog?.models?.().find(({ id }) => id === modelId)?.price;
  return typeof price === 'function' ? undefined : price;
}

async function previewPrice(deps: AdminDeps, modelId: string, price: Price): Promise<PricePreview> {
  const { version, models } = await storedCatalog(deps);
  const model = models.find((one) => member(one, 'id') === modelId);
  if (!isJsonObject(model)) throw new AdminError('not_found', noModel(modelId));
  const changed = { ...model, price: parseJson(JSON.stringify(writtenPrice(price))) ?? null };
  const estimate = await priceEstimate(deps, modelId, {
    before: priceNow(deps, modelId),
    after: price,
  });
  return { modelId, version, differences: catalogDiff([model], [changed]), ...estimate };
}

/** `input 0.15, output 0.6`: a price in one line, for the audit trail. */
function priceText(price: Price): string {
  const json = writtenPrice(price);
  if (json.per === 'free') return 'free';
  if (price.per === 'image') {
    return `per image ${price.rows.map(({ nanos }) => formatMoney(nanos)).join(', ')}`;
  }
  const { per: _, tiers, members, ...rates } = json.per === 'token' ? json : { per: 'token' };
  const all = Object.entries(rates).map(([name, rate]) => `${name} ${rate}`);
  const more = [tiers && 'tiers', members && 'members'].filter((name) => name !== undefined);
  return [...all, ...more].join(', ');
}

async function validate(list: JsonValue): Promise<CatalogCheck> {
  const models = items(list).length;
  try {
    if (!Array.isArray(list)) throw new ConfigurationError('models must be a list.');
    const { modelsFrom } = await import('../../catalog/model-json.ts');
    await modelsFrom(items(list), { credential: referenceOf, prices: () => undefined });
    return { valid: true, models, problem: undefined };
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    return { valid: false, models, problem: error.message };
  }
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

const unknown: PriceEstimate = {
  calls: undefined,
  chargedNanos: undefined,
  beforeNanos: undefined,
  afterNanos: undefined,
};

const spanMs = 30 * 86_400_000;

async function priceEstimate(
  deps: AdminDeps,
  modelId: string,
  { before, after }: { readonly before: Price | undefined; readonly after: Price },
): Promise<PriceEstimate> {
  if (deps.stores.usage.usageReport === undefined) return unknown;
  const toMs = deps.clock.now();
  const { data } = await adminUsage(deps).report({
    by: 'model',
    modelId,
    fromMs: toMs - spanMs,
    toMs,
  });
  const [row] = data;
  if (row === undefined) return { calls: 0, chargedNanos: 0n, beforeNanos: 0n, afterNanos: 0n };
  return {
    calls: row.calls,
    chargedNanos: row.chargeNanos,
    beforeNanos: before && plainCost(row, before),
    afterNanos: plainCost(row, after),
  };
}

type Counts = Omit<UsageReportRow, 'costNanos' | 'marginNanos'>;

function plainCost(counts: Counts, price: Price): Nanos | undefined {
  if (price.per === 'free') return 0n;
  if (price.per === 'token') return costOf(counts, { per: 'token', rates: price.rates });
  const [row, ...others] = price.rows;
  const isOne = row !== undefined && others.length === 0;
  return isOne ? row.nanos * BigInt(counts.images) : undefined;
}
