/**
 * `tollgate check`: tries everything that a configuration names, before callers do. It continues
 * after a failure, because it is mostly run when something is down.
 */
import { dirname } from 'node:path';
import { staticCatalog } from '../../catalog/static-catalog.ts';
import type { Clock } from '../../clock.ts';
import { dialects } from '../../dialects/table.ts';
import { createGateway, type Gateway } from '../../gateway.ts';
import { items, member, parseJson } from '../../json.ts';
import type { DialectName } from '../../ports/models/capabilities.ts';
import type { Channel } from '../../ports/models/catalog.ts';
import { isModel, isWildcard, type ListedModel } from '../../ports/models/listed-model.ts';
import { upstreamModelOf } from '../../ports/models/model-defaults.ts';
import { platformText } from '../../ports/models/platform.ts';
import type { UpstreamClient } from '../../ports/upstream-client.ts';
import { formatMoney } from '../../prices/amount.ts';
import { isWeakSecret } from '../../secret.ts';
import { memoryKeyStore } from '../../stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../stores/memory/quota-store.ts';
import { undiciClient } from '../../upstream/undici-client.ts';
import { type Command, CommandError, configOption, exitCodes, type Given } from '../command.ts';
import { configFile, type ReadConfig } from '../config/read.ts';
import { type Finding, printJson, progress, reasonOf } from '../output.ts';
import { failureReason, type TextReply, textOfReply } from '../requests.ts';
import { type TriedDatabases, tryDatabases } from '../stores/databases.ts';
import { allModels } from '../stores/with-stores.ts';
import { checkStores } from './check-stores.ts';

export const check: Command = {
  name: 'check',
  summary: 'try the configuration, the stores and the channels',
  options: {
    config: configOption,
    channel: { value: 'ID', text: 'only this channel' },
    spend: { text: 'also send a short call through each channel, which costs money' },
  },
  about: `Checks that the configuration is valid, that the stores can be reached and have the right
tables and settings (Redis: maxmemory-policy noeviction, appendonly), that clocks agree, and
that each channel accepts its credential (GET /models, which is free). With --spend it sends a
real call of a few tokens through each channel; no key of yours is charged for it.
What can't be tried because of a failure is "skipped"; the rest is still checked.
The exit code is 1 if a check failed; warnings do not count. It is 2 if the file is invalid.`,
  examples: [
    'npx tollgate check --config tollgate.json',
    'npx tollgate check --channel openai-1 --spend',
  ],
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

async function checkCatalog(given: Given, checked: Checked): Promise<void> {
  const { clock } = given.around;
  const { add } = checked;
  const all = await readModels(checked);
  const models = all && onlyChannel(all, given.text('channel'));
  if (models === undefined) {
    const detail = 'the catalog, which names them, could not be read';
    add([{ state: 'skipped', subject: 'channels', detail }]);
    return;
  }
  add(await progress(given, 'Asking the upstreams', () => checkChannels(models, clock)));
  if (!given.has('spend')) return;
  add(await progress(given, 'Calling the upstreams', () => spendOnce(models, clock)));
}

/** @throws CommandError if no model has it */
function onlyChannel(
  models: readonly ListedModel[],
  channelId: string | undefined,
): readonly ListedModel[] {
  if (channelId === undefined) return models;
  const found = models.flatMap((model) => {
    const channels = model.channels.filter(({ id }) => id === channelId);
    return channels.length === 0 ? [] : [{ ...model, channels }];
  });
  if (found.length > 0) return found;
  throw new CommandError(exitCodes.failed, `No model has a channel "${channelId}".`);
}

async function readModels({ read, tried, path, add }: Checked) {
  const { databases, failures } = tried;
  const { file, store } = read.config.catalog;
  const subject = file === undefined ? 'catalog.store' : 'catalog.file';
  if (store !== undefined && failures.has(store)) {
    add([{ state: 'skipped', subject, detail: `stores.${store} could not be opened` }]);
    return undefined;
  }
  try {
    const models = await allModels(read, databases, path);
    if (read.models === undefined) {
      const isEmpty = store !== undefined && models.length === 0;
      const publish = 'nothing is published yet: npx tollgate catalog publish FILE';
      const detail = isEmpty ? publish : `valid, ${models.length} models`;
      add([{ state: isEmpty ? 'warning' : 'ok', subject, detail }]);
    }
    return models;
  } catch (error) {
    // An invalid catalog has a line for each mistake.
    const details = reasonOf(error).split('\n');
    add(details.map((detail) => ({ state: 'failed', subject, detail })));
    return undefined;
  }
}

/**
 * Asks the upstream of each channel for its models, which is free and needs the credential. A
 * channel that several models use is asked once.
 */
async function checkChannels(
  models: readonly ListedModel[],
  clock: Clock,
): Promise<readonly Finding[]> {
  const client = undiciClient();
  try {
    const channels = channelsOf(models);
    const found = await Promise.all(
      [...channels.values()].map((channel) => checkChannel(channel, client, clock)),
    );
    return found.length === 0
      ? [{ state: 'warning', subject: 'catalog', detail: 'no model has a channel' }]
      : found.flat();
  } finally {
    await client.close();
  }
}

/** A channel, and the models that its upstream should list. */
interface CheckedChannel {
  readonly channel: Channel;
  readonly upstreamModels: Set<string>;
}

function channelsOf(models: readonly ListedModel[]): ReadonlyMap<string, CheckedChannel> {
  const found = new Map<string, CheckedChannel>();
  for (const model of models) {
    for (const channel of model.channels) {
      const checked = found.get(channel.id) ?? { channel, upstreamModels: new Set() };
      if (!isWildcard(model)) checked.upstreamModels.add(upstreamModelOf(channel, model));
      found.set(channel.id, checked);
    }
  }
  return found;
}

async function checkChannel(
  { channel, upstreamModels }: CheckedChannel,
  client: UpstreamClient,
  clock: Clock,
): Promise<readonly Finding[]> {
  const subject = `channel ${channel.id}`;
  const platform = platformText(channel.platform);
  if (platform !== undefined) {
    const detail = `is on ${platform}, where no request is free; use --spend`;
    return [{ state: 'warning', subject, detail }];
  }
  try {
    const { status, text } = await modelsAt(channel, client, clock);
    if (status === 401 || status === 403) {
      return [{ state: 'failed', subject, detail: `its credential was refused (${status})` }];
    }
    if (status !== 200) {
      const detail = `GET /models answered ${status}: the server may not have it`;
      return [{ state: status >= 500 ? 'failed' : 'warning', subject, detail }];
    }
    return listed(subject, idsIn(text), [...upstreamModels]);
  } catch (error) {
    const detail = `can't be reached (${failureReason(error)})`;
    return [{ state: 'failed', subject, detail }];
  }
}

function listed(
  subject: string,
  ids: ReadonlySet<string>,
  wanted: readonly string[],
): readonly Finding[] {
  const missing = wanted.filter((id) => !ids.has(id));
  if (missing.length === 0) return [{ state: 'ok', subject, detail: 'accepts its credential' }];
  const detail = `accepts its credential, but does not list ${missing.join(', ')}`;
  return [{ state: 'warning', subject, detail }];
}

function idsIn(text: string): ReadonlySet<string> {
  const reply = parseJson(text);
  const list = items(member(reply, 'data') ?? member(reply, 'models'));
  return new Set(
    list.flatMap((model) => {
      const id = member(model, 'id') ?? member(model, 'name');
      return typeof id === 'string' ? [id.replace(/^models\//, '')] : [];
    }),
  );
}

/** The query for the largest page that each provider returns. */
const queries: Readonly<Record<DialectName, string>> = {
  openai: '',
  gemini: '?pageSize=1000',
  anthropic: '?limit=1000',
};

function modelsAt(channel: Channel, client: UpstreamClient, clock: Clock): Promise<TextReply> {
  const { dialect, baseUrl, credential, headers } = channel;
  const { origin, pathname } = new URL(baseUrl);
  const secret = typeof credential === 'string' ? credential : '';
  const request = {
    method: 'GET' as const,
    body: [],
    origin,
    path: `${pathname.replace(/\/$/, '')}/models${queries[dialect]}`,
    headers: {
      ...dialects[dialect].credential(secret, 'secret'),
      ...headers,
      accept: 'application/json',
    },
  };
  return textOfReply(request, client, clock);
}

/**
 * Sends a short call through each channel, one after another: no key of the operator is charged,
 * and no other channel can answer in place of the one checked.
 */
async function spendOnce(
  models: readonly ListedModel[],
  clock: Clock,
): Promise<readonly Finding[]> {
  const gateway = testingGateway(clock);
  try {
    const found: Finding[] = [];
    for (const model of models) {
      for (const channel of model.channels) found.push(await spendOn(gateway, model, channel));
    }
    return found;
  } finally {
    await gateway.close();
  }
}

/** A gateway that serves no call: it only tests channels. */
function testingGateway(clock: Clock): Gateway {
  const [keys, quota, catalog] = [memoryKeyStore(), memoryQuotaStore({ clock }), staticCatalog([])];
  return createGateway({ keys, quota, catalog, clock, onEvent: () => {} });
}

async function spendOn(gateway: Gateway, model: ListedModel, channel: Channel): Promise<Finding> {
  const subject = `call of ${model.id} through ${channel.id}`;
  if (!isModel(model)) {
    return { state: 'warning', subject, detail: 'not tried: a wildcard names no model' };
  }
  const test = await gateway.testChannel(model, channel);
  if (test === undefined) {
    return { state: 'warning', subject, detail: 'not tried: an image or native call costs more' };
  }
  const { passed, durationMs, chargeNanos, status, reason } = test;
  if (passed) {
    const detail = `answered in ${durationMs} ms, at ${formatMoney(chargeNanos)}`;
    return { state: 'ok', subject, detail };
  }
  const why = reason ?? 'refused by the gateway';
  return { state: 'failed', subject, detail: `failed (${status ?? 'no call'}, ${why})` };
}
