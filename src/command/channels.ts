/** `tollgate channels`: the channels of each model in the order in which they are tried. */
import type { Channel, Model } from '../ports/catalog.ts';
import { type Command, configOption, exitCodes } from './command.ts';
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
  about: `Lists the channels of each model by priority, as the catalog has them. The health of
channels is known to each running process; "check" asks the upstreams themselves.`,
  examples: ['npx tollgate channels --model gpt-4o-mini'],
  run: (given) =>
    withStores(given, async ({ read, databases, path }) => {
      const models = await allModels(read, databases, path);
      const wanted = given.text('model');
      const rows = models
        .filter(({ id }) => wanted === undefined || id === wanted)
        .flatMap((model) => byPriority(model).map((channel) => rowOf(model, channel)));
      if (given.json) printJson(given.around, { data: rows });
      else given.around.out(asTable(rows));
      return exitCodes.done;
    }),
};

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
}

function rowOf({ id }: Model, channel: Channel): Row {
  return {
    model: id,
    channel: channel.id,
    priority: channel.priority ?? 0,
    weight: channel.weight ?? 1,
    dialect: channel.dialect,
    origin: new URL(channel.baseUrl).origin,
    upstreamModel: channel.upstreamModel ?? id,
  };
}

function asTable(rows: readonly Row[]): string {
  return table(
    ['MODEL', ' PRIORITY', 'CHANNEL', ' WEIGHT', 'DIALECT', 'UPSTREAM', 'UPSTREAM MODEL'],
    rows.map(({ model, channel, priority, weight, dialect, origin, upstreamModel }) => [
      ...[model, String(priority), channel, String(weight), dialect, origin, upstreamModel],
    ]),
  );
}
