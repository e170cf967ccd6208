/**
 * `tollgate check`: tries everything that a configuration names, before callers do. It continues
 * after a failure, because it is mostly run when something is down.
 */
import { dirname } from 'node:path';
import type { Model } from '../../ports/catalog.ts';
import { isWeakSecret } from '../../secret.ts';
import { type Command, configOption, exitCodes, type Given } from '../command.ts';
import { configFile, type ReadConfig } from '../config/read.ts';
import { type Finding, printJson, progress, reasonOf } from '../output.ts';
import { type TriedDatabases, tryDatabases } from '../stores/databases.ts';
import { allModels } from '../stores/with-stores.ts';
import { checkChannels } from './check-channels.ts';
import { spendOnce } from './check-spend.ts';
import { checkStores } from './check-stores.ts';

export const check: Command = {
  name: 'check',
  summary: 'try the configuration, the stores and the channels',
  options: {
    config: configOption,
    spend: { text: 'also send a short call through each channel, which costs money' },
  },
  about: `Checks that the configuration is valid, that the stores can be reached and have the right
tables and settings (Redis: maxmemory-policy noeviction, appendonly), that clocks agree, and
that each channel accepts its credential (GET /models, which is free). With --spend it sends a
real call of a few tokens through each channel; no key of yours is charged for it.
What can't be tried because of a failure is "skipped"; the rest is still checked.
The exit code is 1 if a check failed; warnings do not count. It is 2 if the file is invalid.`,
  examples: ['npx tollgate check --config tollgate.json', 'npx tollgate check --spend --json'],
  run,
};

async function run(given: Given): Promise<number> {
  const findings = await findingsOf(given);
  if (given.json) printJson(given.around, { data: findings });
  const hasFailed = findings.some(({ state }) => state === 'failed');
  return hasFailed ? exitCodes.failed : exitCodes.done;
}

async function findingsOf(given: Given): Promise<readonly Finding[]> {
  const { around, json } = given;
  const file = configFile(given);
  const read = (await file.open()).current();
  const all: Finding[] = [];
  const add = (found: readonly Finding[]): void => {
    all.push(...found);
    if (json) return;
    for (const { state, subject, detail } of found) {
      around.out(`${state.padEnd(8)} ${subject}: ${detail}\n`);
    }
  };
  add([{ state: 'ok', subject: file.name, detail: 'valid' }, ...weakPepper(read.config)]);
  const { stores = {} } = read.config;
  const tried = await progress(given, 'Opening the stores', () =>
    tryDatabases(stores, dirname(file.path)),
  );
  try {
    const look = (): Promise<readonly Finding[]> => checkStores(read.config, tried, around.clock);
    add(await progress(given, 'Checking the stores', look));
    await checkCatalog(given, { read, tried, path: file.path, add });
  } finally {
    await tried.databases.close();
  }
  return all;
}

/** A warning only: another pepper would make all keys invalid that were issued with this one. */
function weakPepper({ keys }: ReadConfig['config']): readonly Finding[] {
  const pepper = keys?.pepper;
  if (pepper === undefined || !isWeakSecret(pepper)) return [];
  const detail =
    'has under 96 bits and could be guessed. Before you issue the first key, set its variable to ' +
    'what this prints: openssl rand -base64 32';
  return [{ state: 'warning', subject: 'keys.pepper', detail }];
}

interface Checked {
  readonly read: ReadConfig;
  readonly tried: TriedDatabases;
  readonly path: string;
  readonly add: (found: readonly Finding[]) => void;
}

async function checkCatalog(given: Given, { read, tried, path, add }: Checked): Promise<void> {
  const { clock } = given.around;
  const models = await readModels({ read, tried, path, add });
  if (models === undefined) {
    const detail = 'the catalog, which names them, could not be read';
    add([{ state: 'skipped', subject: 'channels', detail }]);
    return;
  }
  add(await progress(given, 'Asking the upstreams', () => checkChannels(models, clock)));
  if (!given.has('spend')) return;
  add(await progress(given, 'Calling the upstreams', () => spendOnce(models, clock)));
}

async function readModels({
  read,
  tried: { databases, failures },
  path,
  add,
}: Checked): Promise<readonly Model[] | undefined> {
  const { file, store } = read.config.catalog;
  const subject = file === undefined ? 'catalog.store' : 'catalog.file';
  if (store !== undefined && failures.has(store)) {
    add([{ state: 'skipped', subject, detail: `stores.${store} could not be opened` }]);
    return undefined;
  }
  try {
    const models = await allModels(read, databases, path);
    if (read.models === undefined) {
      add([{ state: 'ok', subject, detail: `valid, ${models.length} models` }]);
    }
    return models;
  } catch (error) {
    // An invalid catalog has a line for each mistake.
    const details = reasonOf(error).split('\n');
    add(details.map((detail) => ({ state: 'failed', subject, detail })));
    return undefined;
  }
}
