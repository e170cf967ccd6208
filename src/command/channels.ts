/**
 * `tollgate channels`: the channels of each model in the order in which they are tried, their
 * switches and tests; and the command that resolves a call in the running process.
 */
import type { Admin } from '../admin/admin.ts';
import type { ChannelTested } from '../admin/channels/tests.ts';
import { given as stated } from '../admin/deps.ts';
import { isJsonObject, items, type JsonValue, member, withoutBigints } from '../json.ts';
import type { Channel } from '../ports/models/catalog.ts';
import type { ListedModel } from '../ports/models/listed-model.ts';
import { upstreamModelOf } from '../ports/models/model-defaults.ts';
import { platformText } from '../ports/models/platform.ts';
import { formatMoney } from '../prices/amount.ts';
import {
  amountOf,
  type Command,
  CommandError,
  configOption,
  exitCodes,
  type Given,
  usageError,
} from './command.ts';
import { configFile } from './config/read.ts';
import { storeChoice } from './config/store-choice.ts';
import { printJson, progress, table } from './output.ts';
import { askAdmin } from './requests.ts';
import { actorOf, actorOption, allModels, withAdmin, withStores } from './stores/with-stores.ts';

export const channels: Command = {
  name: 'channels',
  summary: 'list models and their channels',
  options: { model: { value: 'ID', text: 'only this model' }, config: configOption },
  about: `Lists the channels of each model by priority, as the catalog has them. If admin.token is
configured it asks the process that runs on admin.port for their health; if it can't, it says why.
"check" asks the upstreams themselves.`,
  examples: ['npx tollgate channels --model gpt-4o-mini'],
  run: (given) =>
    withStores(given, ['catalog'], async ({ read, databases, path }) => {
      const { around, json } = given;
      const models = await allModels(read, databases, path);
      const wanted = given.text('model');
      if (wanted !== undefined && models.every(({ id }) => id !== wanted)) {
        const message = `There is no model "${wanted}" in the catalog.`;
        throw new CommandError(exitCodes.failed, message);
      }
      const answer = await askAdmin(read.config.admin, '/channels', around.clock);
      const health = healthIn(answer.value);
      const rows = models
        .filter(({ id }) => wanted === undefined || id === wanted)
        .flatMap((model) => byPriority(model).map((channel) => rowOf(model, channel, health)));
      const note = answer.reason;
      if (json) printJson(around, { data: rows, live: note === undefined, reason: note });
      else around.out(asTable(rows, note === undefined));
      if (!json && note !== undefined) around.err(`Without health: ${note}.\n`);
      return exitCodes.done;
    }),
};

interface Health {
  readonly state: string;
  readonly reason?: string;
  readonly untilMs?: number;
  readonly inFlight: number;
}

type HealthOf = (modelId: string, channelId: string) => Health | undefined;

/** Lenient, because the process may run another version. */
function healthIn(reply: JsonValue | undefined): HealthOf {
  const found = new Map<string, Health>();
  for (const model of items(member(reply, 'data'))) {
    for (const channel of items(member(model, 'channels'))) {
      const [state, reason, untilMs, inFlight] = ['state', 'reason', 'untilMs', 'inFlight'].map(
        (name) => member(channel, name),
      );
      if (typeof state !== 'string') continue;
      found.set(JSON.stringify([member(model, 'modelId'), member(channel, 'channelId')]), {
        state,
        ...(typeof reason === 'string' ? { reason } : {}),
        ...(typeof untilMs === 'number' ? { untilMs } : {}),
        inFlight: Number(inFlight ?? 0),
      });
    }
  }
  return (modelId, channelId) => found.get(JSON.stringify([modelId, channelId]));
}

function byPriority({ channels: all }: ListedModel): readonly Channel[] {
  return all.toSorted((one, other) => (one.priority ?? 0) - (other.priority ?? 0));
}

/** What may be shown of a channel: no secret and no header. */
function rowOf({ id }: ListedModel, channel: Channel, health: HealthOf) {
  return {
    /** Undefined if no process answered, or it does not know the channel. */
    health: health(id, channel.id),
    model: id,
    channel: channel.id,
    priority: channel.priority ?? 0,
    weight: channel.weight ?? 1,
    dialect: channel.dialect,
    platform: platformText(channel.platform),
    origin: new URL(channel.baseUrl).origin,
    upstreamModel: upstreamModelOf(channel, { id }),
  };
}

function asTable(rows: readonly ReturnType<typeof rowOf>[], isLive: boolean): string {
  const heading = ['MODEL', ' PRIORITY', 'CHANNEL', ' WEIGHT', 'DIALECT', 'UPSTREAM'];
  return table(
    [...heading, 'UPSTREAM MODEL', ...(isLive ? ['STATE', ' RUNNING'] : [])],
    rows.map(({ model, channel, priority, weight, upstreamModel, health, ...place }) => [
      ...[model, String(priority), channel, String(weight)],
      ...[place.platform ?? place.dialect, place.origin, upstreamModel],
      ...(isLive ? [stateOf(health), String(health?.inFlight ?? '-')] : []),
    ]),
    'The catalog has no models.',
  );
}

/** `open (connect_refused), until 2026-11-23T14:00:00Z` */
function stateOf(health: Health | undefined): string {
  if (health === undefined) return 'unknown';
  const { state, reason, untilMs } = health;
  const cause = reason === undefined ? '' : ` (${reason})`;
  const end = untilMs === undefined ? '' : `, until ${new Date(untilMs).toISOString()}`;
  return `${state}${cause}${end}`;
}

/** A command whose name is that of an admin route: `calls resolve` is `/calls/{id}/resolve`. */
interface ProcessChange extends Omit<Command, 'run' | 'positionals'> {
  readonly positionals: string;
  readonly body: (given: Given) => JsonValue;
  /** What the process has done, in sentences. */
  readonly done: (id: string, reply: JsonValue) => string;
}

function processChange({ body, done, ...command }: ProcessChange): Command {
  const { name, positionals, options, about } = command;
  const [room, task] = name.split(' ');
  return {
    ...command,
    options: { ...options, config: configOption },
    about: `${about}
It asks the process that runs with this configuration on admin.port, and needs
admin.token.`,
    run: async (given) => {
      const [id] = given.positionals;
      if (id === undefined) throw usageError(`${positionals} is missing.`);
      const reply = await change(given, `/${room}/${encodeURIComponent(id)}/${task}`, body(given));
      if (given.json) printJson(given.around, isJsonObject(reply) ? reply : {});
      else given.around.out(`${done(id, reply)}\n`);
      return exitCodes.done;
    },
  };
}

/** @throws CommandError with the reason of the process, or why there is none */
async function change(given: Given, path: string, body: JsonValue): Promise<JsonValue> {
  const { admin } = (await configFile(given).open()).current().config;
  const { value, reason, reply } = await askAdmin(admin, path, given.around.clock, body);
  if (value !== undefined) return value;
  const [code, message] = ['code', 'message'].map((name) => member(member(reply, 'error'), name));
  if (typeof message !== 'string') {
    throw new CommandError(exitCodes.unreachable, `Nothing was changed: ${reason}.`);
  }
  const isOther = code === 'not_signed_in';
  const refusal = isOther ? 'The process that runs has another admin.token.' : message;
  throw new CommandError(exitCodes.failed, refusal);
}

function switching(task: 'disable' | 'enable'): Command {
  const isOff = task === 'disable';
  return {
    name: `channels ${task}`,
    summary: isOff ? 'send no calls to a channel' : 'send calls to a channel again',
    positionals: 'CHANNEL_ID',
    options: { actor: actorOption, config: configOption },
    about: isOff ? aboutDisable : aboutEnable,
    examples: [`npx tollgate channels ${task} openai-1`],
    run: async (given) => {
      const id = channelIdIn(given);
      const where = await switchedAt(given, id, task);
      const place = where === 'everywhere' ? 'in all processes, within 5 s' : inProcess[task];
      const undo = isOff ? ` Undo: npx tollgate channels enable ${id}.` : '';
      if (given.json) printJson(given.around, { channelId: id, where });
      else given.around.out(`${id} is ${task}d ${place}.${undo}\n`);
      return exitCodes.done;
    },
  };
}

const inProcess = { disable: 'in this process, until it ends', enable: 'in this process' } as const;

const aboutDisable = `Takes a channel out of all processes that share the database (stores.sqlite or
stores.postgres), within 5 s, also after a restart, until "channels enable". Running calls
continue. Without a database it asks the process that runs with this configuration on
admin.port, which needs admin.token: the channel is out there until the process ends.`;

const aboutEnable = `Uses a channel again where "channels disable" took it out, and forgets the
failures that were recorded against it, such as a refused credential. It changes no weight.`;

/** Where the switch holds. A database is changed directly: no process need be running. */
async function switchedAt(given: Given, id: string, task: 'disable' | 'enable'): Promise<string> {
  const { config } = (await configFile(given).open()).current();
  if (storeChoice(config.stores).cluster === 'memory') {
    const reply = await change(given, `/channels/${encodeURIComponent(id)}/${task}`, {});
    return member(reply, 'where') === 'everywhere' ? 'everywhere' : 'process';
  }
  let where = 'everywhere';
  const run = async ({ channels: all }: Admin): Promise<number> => {
    where = (await all[task](actorOf(given), id)).where;
    return exitCodes.done;
  };
  await withAdmin(given, run, { switches: true });
  return where;
}

function channelIdIn({ positionals: [id] }: Given): string {
  if (id === undefined) throw usageError('CHANNEL_ID is missing.');
  return id;
}

const test: Command = {
  name: 'channels test',
  summary: 'send one short call through a channel, which costs money',
  positionals: 'CHANNEL_ID',
  options: {
    model: { value: 'ID', text: 'the model; default: the first of the channel with a cheap call' },
    actor: actorOption,
    config: configOption,
  },
  about: `Sends a call of a few tokens through one channel, also one that is disabled, and prints
the status of the upstream, the latency, the tokens and what the call costs. No key of yours
is charged for it, and the state of the channel does not change: after a test that passes,
"channels enable" brings a refused one back. The exit code is 1 if it failed.`,
  examples: ['npx tollgate channels test openai-1 --model gpt-4o-mini'],
  run: async (given) => {
    const id = channelIdIn(given);
    const modelId = given.text('model');
    let tested: ChannelTested | undefined;
    const run = async ({ channels: all }: Admin): Promise<number> => {
      tested = await all.test(actorOf(given), id, stated({ modelId }));
      return tested.passed ? exitCodes.done : exitCodes.failed;
    };
    const code = await progress(given, `Calling ${id}`, () => withAdmin(given, run));
    if (tested === undefined) return code;
    if (given.json) printJson(given.around, withoutBigints(tested));
    else given.around.out(`${testText(tested)}\n`);
    return code;
  },
};

function testText(tested: ChannelTested): string {
  const { channelId, modelId, passed, status, reason, meaning, remedy, durationMs } = tested;
  const { inputTokens = 0, outputTokens = 0, chargeNanos, costNanos } = tested;
  const subject = `${modelId} through ${channelId}`;
  const time = `${status ?? 'no status'}, ${durationMs} ms`;
  if (passed) {
    const cost = costNanos === undefined ? '' : `, cost ${formatMoney(costNanos)}`;
    const used = `${inputTokens} + ${outputTokens} tokens`;
    return `${subject} works: ${time}, ${used}, price ${formatMoney(chargeNanos)}${cost}.`;
  }
  const why = reason === undefined ? 'for an unknown reason' : `${reason}: ${meaning}`;
  const cure = remedy === undefined ? '' : ` Remedy: ${remedy}.`;
  return `${subject} failed (${time}): ${why}.${cure}`;
}

const resolve = processChange({
  name: 'calls resolve',
  summary: 'say whether a call in doubt ran',
  positionals: 'REQUEST_ID',
  options: {
    ran: { text: 'it ran: charge it' },
    'not-run': { text: 'it did not run: release its hold' },
    charge: { value: 'AMOUNT', text: 'with --ran; default: what was held' },
    reservation: { value: 'ID', text: 'the reservationId, if several calls have this request id' },
  },
  about: 'Ends the hold of a call whose outcome is unknown, once you know it from the provider.',
  examples: [
    'npx tollgate calls resolve req_4711 --not-run',
    'npx tollgate calls resolve req_4711 --ran --charge 0.04',
  ],
  body: (given) => {
    const [charge, reservationId] = [given.text('charge'), given.text('reservation')];
    const ran = given.has('ran');
    if (ran === given.has('not-run')) throw usageError('Give either --ran or --not-run.');
    if (!ran && charge !== undefined) throw usageError('--charge is for --ran alone.');
    const chargeNanos = charge === undefined ? undefined : String(amountOf(charge));
    return { ran, ...stated({ chargeNanos, reservationId }) };
  },
  done: (id) => `${id} is resolved.`,
});

export const channelChanges: readonly Command[] = [
  switching('disable'),
  switching('enable'),
  test,
  resolve,
];
