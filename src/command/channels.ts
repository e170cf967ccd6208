/** `tollgate channels`: the channels of each model in the order in which they are tried. */
import { items, type JsonValue, member } from '../json.ts';
import type { Channel, Model } from '../ports/catalog.ts';
import { askAdmin } from './ask-admin.ts';
import { type Command, CommandError, configOption, exitCodes } from './command.ts';
import { allModels } from './models.ts';
import { printJson, table } from './output.ts';
import { withStores } from './with-stores.ts';

/** The command. */
export const channels: Command = {
  name: 'channels',
  summary: 'list models and their channels',
  options: {
    model: { type: 'string', value: 'ID', text: 'only this model' },
    config: configOption,
  },
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

/** The health of a channel for a model, in the running process. */
interface Health {
  readonly state: string;
  readonly reason?: string;
  readonly untilMs?: number;
  readonly inFlight: number;
}

type HealthOf = (modelId: string, channelId: string) => Health | undefined;

/**
 * Reads the reply of the admin interface leniently, because the process may run another version.
 */
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
interface Row {
  readonly model: string;
  readonly channel: string;
  readonly priority: number;
  readonly weight: number;
  readonly dialect: string;
  readonly origin: string;
  readonly upstreamModel: string;
  /** Undefined if no process answered, or it does not know the channel. */
  readonly health: Health | undefined;
}

function rowOf({ id }: Model, channel: Channel, health: HealthOf): Row {
  return {
    health: health(id, channel.id),
    model: id,
    channel: channel.id,
    priority: channel.priority ?? 0,
    weight: channel.weight ?? 1,
    dialect: channel.dialect,
    origin: new URL(channel.baseUrl).origin,
    upstreamModel: channel.upstreamModel ?? id,
  };
}

function asTable(rows: readonly Row[], isLive: boolean): string {
  const heading = ['MODEL', ' PRIORITY', 'CHANNEL', ' WEIGHT', 'DIALECT', 'UPSTREAM'];
  return table(
    [...heading, 'UPSTREAM MODEL', ...(isLive ? ['STATE', ' RUNNING'] : [])],
    rows.map(({ model, channel, priority, weight, dialect, origin, upstreamModel, health }) => [
      ...[model, String(priority), channel, String(weight), dialect, origin, upstreamModel],
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
