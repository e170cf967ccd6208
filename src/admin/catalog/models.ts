/** A model of the catalog as operators see it: no secret, no header and no URL. */
import type { Price } from '../../money.ts';
import type { ChannelCost } from '../../ports/models/catalog.ts';
import type { ListedModel } from '../../ports/models/listed-model.ts';
import { isWildcard } from '../../ports/models/listed-model.ts';
import {
  priorityOf,
  protocolsOf,
  upstreamModelOf,
  weightOf,
} from '../../ports/models/model-defaults.ts';
import { platformText } from '../../ports/models/platform.ts';
import { priceToJson } from '../../prices/codec.ts';
import type { PriceJson } from '../../prices/price-json.ts';

/** A channel of a model, with what it costs the operator. */
export interface CatalogChannel {
  /** The upstream account, by the `id` of its channel. */
  readonly channelId: string;
  /** The wire format of the upstream: `openai`, `gemini` or `anthropic`. */
  readonly dialect: string;
  /** The platform that hosts it, and where: `bedrock us-east-1`; undefined for none. */
  readonly platform: string | undefined;
  /** The channel's name for the model. */
  readonly upstreamModel: string;
  /** Lower is tried first. */
  readonly priority: number;
  /** Its share of the calls within one priority. */
  readonly weight: number;
  /** The groups whose keys may use it; undefined for all groups of the model. */
  readonly groups: readonly string[] | undefined;
  /** In units; `reported`: what its replies say; undefined if it is not stated. */
  readonly cost: PriceJson | 'reported' | undefined;
}

/** A model or a wildcard, with the defaults of what its record leaves out. */
export interface CatalogModel {
  /** What callers send; of a wildcard it ends in `*`. */
  readonly modelId: string;
  /** Whether it serves every id that begins like its own. */
  readonly isWildcard: boolean;
  /** For lists of models; undefined if there is none. */
  readonly displayName: string | undefined;
  /** For lists of models; undefined if there is none. */
  readonly description: string | undefined;
  /** Other names that callers may send. */
  readonly aliases: readonly string[];
  /** The groups whose keys may use it. */
  readonly groups: readonly string[];
  /** The APIs through which it is offered; undefined if they depend on the listed price. */
  readonly protocols: readonly string[] | undefined;
  /** For callers, in units, per million tokens or per image; undefined if a list has it. */
  readonly price: PriceJson | undefined;
  /** The largest prompt that is held, in tokens; undefined if unknown. */
  readonly contextTokens: number | undefined;
  /** The most tokens of a reply; undefined if unknown, and 16,384 are held. */
  readonly maxOutputTokens: number | undefined;
  /** How many calls and tokens all keys together may use, by `calls` or `tokens` and the time. */
  readonly limits: readonly ModelLimit[];
  /** Ids of models that are asked while all its accounts are out. */
  readonly fallbacks: readonly string[];
  /** The upstream accounts that serve it. */
  readonly channels: readonly CatalogChannel[];
}

/** A rate limit of a model. */
export interface ModelLimit {
  /** What is counted. */
  readonly of: 'calls' | 'tokens';
  /** The time in which the bucket refills. */
  readonly per: 'minute' | 'hour' | 'day';
  /** How many in that time. */
  readonly amount: number;
}

export function catalogModel(model: ListedModel): CatalogModel {
  const { id, price, aliases = [], groups, fallbacks = [], channels } = model;
  const { displayName, description, contextTokens, maxOutputTokens } = model;
  return {
    modelId: id,
    isWildcard: isWildcard(model),
    ...{ displayName, description, aliases, groups, fallbacks, contextTokens, maxOutputTokens },
    protocols: typeof price === 'function' ? model.protocols : protocolsOf({ ...model, price }),
    price: typeof price === 'function' ? undefined : writtenPrice(price),
    limits: limitsOf(model),
    channels: channels
      .map((channel) => ({
        channelId: channel.id,
        dialect: channel.dialect,
        platform: platformText(channel.platform),
        upstreamModel: upstreamModelOf(channel, model),
        priority: priorityOf(channel),
        weight: weightOf(channel),
        groups: channel.groups,
        cost: costOf(channel.cost),
      }))
      .sort((one, other) => one.priority - other.priority),
  };
}

/** A price as JSON has it: without the members that are undefined. */
export function writtenPrice(price: Price): PriceJson {
  const written: PriceJson = JSON.parse(JSON.stringify(priceToJson(price)));
  return written;
}

function costOf(cost: ChannelCost | undefined): CatalogChannel['cost'] {
  return cost === undefined || cost === 'reported' ? cost : writtenPrice(cost);
}

function limitsOf({ rates }: ListedModel): readonly ModelLimit[] {
  const spans = [
    ['minute', 'perMinute'],
    ['hour', 'perHour'],
    ['day', 'perDay'],
  ] as const;
  return (['calls', 'tokens'] as const).flatMap((of) =>
    spans.flatMap(([per, name]) => {
      const amount = rates?.[of]?.[name];
      return amount === undefined ? [] : [{ of, per, amount }];
    }),
  );
}
