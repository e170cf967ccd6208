/** Catalogs for operators: check a list of models, and publish one. */

import { modelsFrom } from '../catalog/model-json.ts';
import type { PublishedModel } from '../catalog/published-catalog.ts';
import { ConfigurationError, isConfigurationError } from '../errors.ts';
import { isJsonObject, items, type JsonValue, member } from '../json.ts';
import { databaseCatalog, notSupported } from './admin-error.ts';
import type { AdminDeps } from './deps.ts';

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

export function adminCatalogs({ catalog, audit }: AdminDeps): AdminCatalogs {
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
