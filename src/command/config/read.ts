/** Reads and checks `tollgate.json`: its text, its variables, its form, and what its parts say. */

import { systemClock } from '../../clock.ts';
import { ConfigurationError, isError } from '../../errors.ts';
import { isJsonObject, type JsonValue, parseJson } from '../../json.ts';
import type { Model } from '../../ports/catalog.ts';
import { setUpProblems } from '../../ports/set-up.ts';
import { credentialReader } from '../../stores/file/credentials.ts';
import { scanFile } from '../../stores/file/json-text.ts';
import { modelsFrom } from '../../stores/file/model-json.ts';
import { checkModels } from '../../stores/memory/check-models.ts';
import type { ServeConfig } from './config.ts';
import { type Environment, withEnvironment } from './environment.ts';
import { configForm } from './schema.ts';
import { secretProblems } from './secrets.ts';
import { portProblems, storeProblems } from './store-choice.ts';

/** A valid configuration, and the models in it if its catalog has any. */
export interface ReadConfig {
  readonly config: ServeConfig;
  readonly models: readonly Model[] | undefined;
}

/**
 * The configuration in a file's bytes.
 *
 * @throws ConfigurationError that names each wrong member by its path, and says how to fix it
 */
export async function readConfig(bytes: Uint8Array, env: Environment): Promise<ReadConfig> {
  scanFile(bytes, '{ "catalog": … }');
  const written = parseJson(Buffer.from(bytes).toString()) ?? {};
  refuse(secretProblems(written));
  const value = withEnvironment(written, env);
  refuse(
    setUpProblems(configForm, value, {
      root: '',
      remedyFor: () => undefined,
      names: 'docs/command.md',
    }),
  );
  const config = checkedForm(value);
  refuse([...storeProblems(config), ...portProblems(config)]);
  return { config, models: await modelsOf(config) };
}

/** The value in the type that the schema has checked, with ports as numbers. */
function checkedForm(value: JsonValue): ServeConfig {
  const parsed: unknown = configForm.parse(value);
  if (!isConfig(parsed)) throw new ConfigurationError('the text is not an object.');
  return parsed;
}

/** The schema has checked every member already. */
function isConfig(value: unknown): value is ServeConfig {
  return isJsonObject(value);
}

async function modelsOf({ catalog }: ServeConfig): Promise<readonly Model[] | undefined> {
  if (catalog.models === undefined) return undefined;
  const clock = systemClock();
  // The secrets are in place of their references here.
  const reader = credentialReader({ credentials: undefined, allowSecretsInFile: true, clock });
  try {
    const models = await modelsFrom(catalog.models, reader);
    checkModels(models);
    return models;
  } catch (error) {
    throw new ConfigurationError(placed(error));
  }
}

/** The message of a catalog's error, with the path of the models in this file. */
function placed(error: unknown): string {
  const message = isError(error) ? error.message : String(error);
  return message.replace(/^staticCatalog: /, '').replace(/(^|[ :])models\[/, '$1catalog.models[');
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new ConfigurationError(problems.join('\n'));
}
