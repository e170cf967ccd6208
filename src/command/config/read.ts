/**
 * Opens, reads and checks `tollgate.json`: its JSON, its variables, its form, and members that
 * contradict each other.
 */

import { basename, dirname, resolve } from 'node:path';
import { z } from 'zod';
import { credentialReader } from '../../catalog/credentials.ts';
import { readModels } from '../../catalog/model-json.ts';
import { systemClock } from '../../clock.ts';
import { disk, fileWatch } from '../../files/file-watch.ts';
import { scanFile } from '../../files/json-text.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../json.ts';
import type { ListedModel, PriceOfListed } from '../../ports/models/listed-model.ts';
import {
  formatPath,
  isWithin,
  type Path,
  type Problem,
  refuseProblems,
} from '../../ports/problems.ts';
import { setUpProblems } from '../../ports/set-up.ts';
import { isWeakSecret, secretKind } from '../../secret.ts';
import type { Given } from '../command.ts';
import { listedPrices } from '../stores/packages.ts';
import { configForm, defaultPorts, type ServeConfig, type StoreName } from './config.ts';
import { type Environment, isReference, isSecretMember, withEnvironment } from './environment.ts';
import { storeChoice } from './store-choice.ts';

export interface ReadConfig {
  readonly config: ServeConfig;
  readonly models: readonly ListedModel[] | undefined;
}

/**
 * The configuration in a file's bytes.
 *
 * @throws ConfigurationError with a line for each wrong member, its path and how to fix it
 */
export async function readConfig(
  bytes: Uint8Array,
  env: Environment,
  prices?: PriceOfListed,
): Promise<ReadConfig> {
  scanFile(bytes, '{ "catalog": … }');
  const written = parseJson(Buffer.from(bytes).toString()) ?? {};
  const { value, problems: unset } = withEnvironment(written, env);
  const found = [...secretProblems(written), ...unset];
  found.push(...unreported(formProblems(value), found));
  found.push(...unreported(crossProblems(value, found), found));
  const { models, problems } = await modelsIn(value, found, prices);
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

const placeOfModels = ['catalog', 'models'];

async function modelsIn(
  value: JsonValue,
  found: readonly Problem[],
  prices: PriceOfListed | undefined,
) {
  const list = member(member(value, 'catalog'), 'models');
  if (!Array.isArray(list)) return { models: undefined, problems: [] };
  const clock = systemClock();
  // The references have been replaced with the secrets by now.
  const credential = credentialReader({ credentials: undefined, allowSecretsInFile: true, clock });
  const known = found.flatMap(({ path }) =>
    isWithin(path, placeOfModels) ? [path.slice(placeOfModels.length)] : [],
  );
  const { models, problems } = await readModels(
    items(list),
    { credential, prices },
    'catalog.models',
    known,
  );
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

/**
 * The problems between members. What depends on a member that is itself wrong is not checked.
 *
 * @param known problems that were found in single members
 */
function crossProblems(value: JsonValue, known: readonly Problem[]): readonly Problem[] {
  const isRight = (...path: Path): boolean =>
    !known.some((one) => isWithin(one.path, path) || isWithin(path, one.path));
  const parts = partsForm.safeParse(value).data;
  if (parts === undefined) return [];
  return [
    ...missingStores(parts, isRight),
    ...fixedKeyProblems(parts, isRight),
    ...portProblems(parts, isRight),
  ];
}

/** Whether neither the member nor anything above or below it has a known problem. */
type IsRight = (...path: Path) => boolean;

function orAbsent<T>(schema: z.ZodType<T>): z.ZodType<T | undefined> {
  return schema.optional().catch(undefined);
}

const tables = orAbsent(z.enum(['memory', 'sqlite', 'postgres']));
const anyStore = orAbsent(z.enum(['memory', 'sqlite', 'postgres', 'redis']));
const text = orAbsent(z.string());
const port = orAbsent(z.object({ port: orAbsent(z.coerce.number()) }));

/** The members that refer to others; all the rest is ignored. */
const partsForm = z.object({
  catalog: orAbsent(z.object({ store: orAbsent(z.enum(['sqlite', 'postgres'])) })),
  stores: orAbsent(
    z.object({
      sqlite: z.unknown().optional(),
      postgres: z.unknown().optional(),
      redis: z.unknown().optional(),
      keys: tables,
      quota: anyStore,
      usage: tables,
      idempotency: anyStore,
      rates: anyStore,
      results: anyStore,
      responseIndex: anyStore,
      items: anyStore,
    }),
  ),
  keys: orAbsent(
    z.object({ fixed: orAbsent(z.array(orAbsent(z.object({ id: text, secret: text })))) }),
  ),
  listen: port,
  metrics: port,
  admin: port,
});

type Parts = z.infer<typeof partsForm>;

function missingStores({ stores, catalog }: Parts, isRight: IsRight): readonly Problem[] {
  const chosen: readonly { readonly path: Path; readonly store: StoreName | undefined }[] = [
    ...Object.entries(storeChoice(stores)).map(([name, store]) => ({
      path: ['stores', name],
      store,
    })),
    { path: ['catalog', 'store'], store: catalog?.store },
  ];
  return chosen.flatMap(({ path, store }) => {
    if (store === undefined || store === 'memory' || stores?.[store] !== undefined) return [];
    if (!isRight(...path)) return [];
    const choice = `${formatPath('', path)} is "${store}"`;
    const remedy = 'Add it, or choose another.';
    return [{ path, sentence: `${choice}, but there is no stores.${store}. ${remedy}` }];
  });
}

function fixedKeyProblems({ stores, keys }: Parts, isRight: IsRight): readonly Problem[] {
  const { fixed } = keys ?? {};
  if (fixed === undefined) return [];
  const store = storeChoice(stores).keys;
  const isMisplaced = store !== 'memory' && isRight('stores', 'keys');
  const misplaced = {
    path: ['keys', 'fixed'],
    sentence:
      `keys.fixed is only for stores.keys "memory", and it is "${store}". ` +
      'Remove it, and issue keys by: npx tollgate keys issue.',
  };
  const problems = fixed.flatMap((key, index) => [
    ...(['id', 'secret'] as const).flatMap((member) => repeated(member, index, fixed)),
    ...weakSecret(key?.secret, index),
  ]);
  return isMisplaced ? [misplaced, ...problems] : problems;
}

function repeated(
  member: 'id' | 'secret',
  index: number,
  fixed: NonNullable<NonNullable<Parts['keys']>['fixed']>,
): readonly Problem[] {
  const value = fixed[index]?.[member];
  const first = fixed.findIndex((key) => key?.[member] === value);
  if (value === undefined || first === index) return [];
  const pathOf = (at: number): Path => ['keys', 'fixed', at, member];
  const same = `${formatPath('', pathOf(index))} is the same as ${formatPath('', pathOf(first))}`;
  return [{ path: pathOf(index), sentence: `${same}. Give each key its own.` }];
}

function weakSecret(secret: string | undefined, index: number): readonly Problem[] {
  if (secret === undefined) return [];
  const path = ['keys', 'fixed', index, 'secret'];
  const remedy = 'Set its variable to what this prints: openssl rand -base64 32';
  if (isWeakSecret(secret)) {
    const sentence = `${formatPath('', path)} has under 96 bits and could be guessed. ${remedy}.`;
    return [{ path, sentence }];
  }
  // A secret with a wrong checksum is refused before any key is looked up.
  if (secretKind(secret) !== 'forged') return [];
  const sentence = `${formatPath('', path)} begins with tg_, but was not issued. ${remedy}.`;
  return [{ path, sentence }];
}

function portProblems({ listen, metrics, admin }: Parts, isRight: IsRight): readonly Problem[] {
  const bound = { listen: listen ?? { port: undefined }, metrics, admin };
  const ports = (['listen', 'metrics', 'admin'] as const).flatMap((member) => {
    const chosen = bound[member];
    if (chosen === undefined || !isRight(member, 'port')) return [];
    return [{ member, port: chosen.port ?? defaultPorts[member] }];
  });
  return ports.flatMap(({ member, port: chosen }, index) => {
    const other = ports.slice(0, index).find((earlier) => earlier.port === chosen && chosen !== 0);
    if (other === undefined) return [];
    const path = [member, 'port'];
    const taken = `${member}.port is ${chosen}, as is ${other.member}.port`;
    return [{ path, sentence: `${taken}. Choose another.` }];
  });
}

export type ConfigFile = ReturnType<typeof configFile>;

export function configFile({ around, text }: Pick<Given, 'around' | 'text'>) {
  const path = resolve(around.cwd, text('config') ?? 'tollgate.json');
  // The folders must not reach a log or a message.
  const name = basename(path);
  const names = { reader: '', unreadable: name };
  return {
    path,
    name,
    // A reload opens it again, and reports its errors to the log.
    open: async () => {
      const prices = await listedPrices(dirname(path));
      return fileWatch(path, (bytes) => readConfig(bytes, around.env, prices), disk, names);
    },
  };
}
