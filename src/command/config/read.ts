/**
 * Reads and checks `tollgate.json`: its JSON, its variables, its form, and references between its
 * members.
 */

import { credentialReader } from '../../catalog/credentials.ts';
import { readModels } from '../../catalog/model-json.ts';
import { systemClock } from '../../clock.ts';
import { scanFile } from '../../files/json-text.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../json.ts';
import type { Model } from '../../ports/catalog.ts';
import {
  formatPath,
  isWithin,
  type Path,
  type Problem,
  refuseProblems,
  setUpProblems,
} from '../../ports/set-up.ts';
import { configForm, type ServeConfig } from './config.ts';
import { crossProblems } from './cross-references.ts';
import { type Environment, isReference, isSecretMember, withEnvironment } from './environment.ts';

export interface ReadConfig {
  readonly config: ServeConfig;
  readonly models: readonly Model[] | undefined;
}

/**
 * The configuration in a file's bytes.
 *
 * @throws ConfigurationError with a line for each wrong member, its path and how to fix it
 */
export async function readConfig(bytes: Uint8Array, env: Environment): Promise<ReadConfig> {
  scanFile(bytes, '{ "catalog": … }');
  const written = parseJson(Buffer.from(bytes).toString()) ?? {};
  const { value, problems: unset } = withEnvironment(written, env);
  const found = [...secretProblems(written), ...unset];
  found.push(...unreported(formProblems(value), found));
  found.push(...unreported(crossProblems(value, found), found));
  const { models, problems } = await modelsIn(value, found);
  refuseProblems([...found, ...problems]);
  return { config: configForm.parse(value), models };
}

/** Only problems of members that have none yet: of several, the first is enough. */
function unreported(problems: readonly Problem[], known: readonly Problem[]): readonly Problem[] {
  return problems.filter(({ path }) => !known.some((one) => isWithin(path, one.path)));
}

function formProblems(value: JsonValue): readonly Problem[] {
  return setUpProblems(configForm, value, {
    root: '',
    remedyFor: () => undefined,
    names: 'docs/command.md',
  });
}

interface ModelsInFile {
  readonly models: readonly Model[] | undefined;
  readonly problems: readonly Problem[];
}

const placeOfModels = ['catalog', 'models'];

async function modelsIn(value: JsonValue, found: readonly Problem[]): Promise<ModelsInFile> {
  const list = member(member(value, 'catalog'), 'models');
  if (!Array.isArray(list)) return { models: undefined, problems: [] };
  const clock = systemClock();
  // The references have been replaced with the secrets by now.
  const reader = credentialReader({ credentials: undefined, allowSecretsInFile: true, clock });
  const known = found.flatMap(({ path }) =>
    isWithin(path, placeOfModels) ? [path.slice(placeOfModels.length)] : [],
  );
  const { models, problems } = await readModels(items(list), reader, 'catalog.models', known);
  return { models, problems };
}

/**
 * The members that contain a secret instead of a reference to one: files end up in repositories.
 */
function secretProblems(value: JsonValue, path: Path = []): readonly Problem[] {
  if (Array.isArray(value)) {
    return items(value).flatMap((item, index) => secretProblems(item, [...path, index]));
  }
  if (isJsonObject(value)) {
    return Object.entries(value).flatMap(([name, item]) => secretProblems(item, [...path, name]));
  }
  if (typeof value !== 'string' || !isSecretMember(path) || isReference(value)) return [];
  const sentence = `${formatPath('', path)} is a secret. Write \${NAME}, the name of a variable.`;
  return [{ path, sentence }];
}
