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
  readonly channelId: string;
  readonly dialect: string;
  /** The platform that hosts it, and where: `bedrock us-east-1`; undefined for none. */
  readonly platform: string | undefined;
  readonly upstreamModel: string;
  readonly priority: number;
  readonly weight: number;
  /** The groups whose keys may use it; undefined for all groups of the model. */
  readonly groups: readonly string[] | undefined;
  /** In units; `reported`: what its replies say; undefined if it is not stated. */
  readonly cost: PriceJson | 'reported' | undefined;
}

/** A model or a wildcard, with the defaults of what its record leaves out. */
export interface CatalogModel {
  readonly modelId: string;
  readonly isWildcard: boolean;
  readonly displayName: string | undefined;
  readonly description: string | undefined;
  readonly aliases: readonly string[];
  readonly groups: readonly string[];
  /** The APIs through which it is offered; undefined if they depend on the listed price. */
  readonly protocols: readonly string[] | undefined;
  /** For callers, in units, per million tokens or per image; undefined if a list has it. */
  readonly price: PriceJson | undefined;
  readonly contextTokens: number | undefined;
  readonly maxOutputTokens: number | undefined;
  /** How many calls and tokens all keys together may use, by `calls` or `tokens` and the time. */
  readonly limits: readonly ModelLimit[];
  readonly fallbacks: readonly string[];
  readonly channels: readonly CatalogChannel[];
}

/** A rate limit of a model. */
export interface ModelLimit {
  readonly of: 'calls' | 'tokens';
  readonly per: 'minute' | 'hour' | 'day';
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
