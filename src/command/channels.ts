/**
 * `tollgate channels`: the channels of each model in the order in which they are tried; and the
 * commands that change the running process, through its admin port.
 */
import { given as stated } from '../admin/deps.ts';
import { isJsonObject, items, type JsonValue, member } from '../json.ts';
import type { Channel, Model } from '../ports/catalog.ts';
import { platformText } from '../ports/platform.ts';
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
import { printJson, table } from './output.ts';
import { askAdmin } from './requests.ts';
import { allModels, withStores } from './stores/with-stores.ts';

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

function byPriority({ channels: all }: Model): readonly Channel[] {
  return all.toSorted((one, other) => (one.priority ?? 0) - (other.priority ?? 0));
}

/** What may be shown of a channel: no secret and no header. */
function rowOf({ id }: Model, channel: Channel, health: HealthOf) {
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
    upstreamModel: channel.upstreamModel ?? id,
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
  return processChange({
    name: `channels ${task}`,
    summary: isOff ? 'send no calls to a channel' : 'send calls to a channel again',
    positionals: 'CHANNEL_ID',
    options: {
      everywhere: {
        text: `in all processes: the weight ${isOff ? 0 : 1} in a catalog in a database`,
      },
    },
    about: isOff ? aboutDisable : aboutEnable,
    examples: [`npx tollgate channels ${task} openai-1`],
    body: (given) => ({ where: given.has('everywhere') ? 'everywhere' : 'process' }),
    done: isOff ? disabled : enabled,
  });
}

const aboutDisable = `Takes a channel out of one running process, at once, until "channels
enable" or until the process ends. Other processes go on using it. Running calls continue.
With --everywhere it gets the weight 0 in all its models, in a catalog in a database
(catalog.store). The process that is asked applies that at once, the others within 2 s, and it
lasts, also over restarts, until the channel gets a weight: "channels enable --everywhere" gives
it 1, the console any. The weights that it had are printed.`;

const aboutEnable = `Uses a channel again in one running process, at once, and forgets the
failures that took it out. It undoes "channels disable" there, but not the weight 0.
With --everywhere it gets the weight 1 in all its models, in a catalog in a database
(catalog.store), whatever it was before: the process that is asked applies that at once, the
others within 2 s. A process in which it was disabled alone needs "channels enable" itself.`;

function disabled(id: string, reply: JsonValue): string {
  const undo = `npx tollgate channels enable ${id}`;
  return member(reply, 'where') === 'everywhere'
    ? `${id} is disabled everywhere: the weight 0 in ${weightsIn(reply)}. ` +
        `This process sends it no calls, the others stop within 2 s. Undo: ${undo} --everywhere, ` +
        'which gives it the weight 1.'
    : `${id} is disabled in this process, until it ends. Undo: ${undo}.`;
}

function enabled(id: string, reply: JsonValue): string {
  return member(reply, 'where') === 'everywhere'
    ? `${id} is enabled everywhere: the weight 1 in ${weightsIn(reply)}. ` +
        'This process uses it, the others begin within 2 s.'
    : `${id} is enabled in this process.`;
}

/** `chat (was 3), image (was 1)` */
function weightsIn(reply: JsonValue): string {
  return items(member(reply, 'before'))
    .map((each) => `${member(each, 'modelId')} (was ${member(each, 'weight')})`)
    .join(', ');
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

export const processChanges: readonly Command[] = [
  switching('disable'),
  switching('enable'),
  resolve,
];
