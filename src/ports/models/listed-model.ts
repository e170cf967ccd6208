/** What a list of models has: models, and wildcards that stand for many. */
import type { Price } from '../../money.ts';
import type { Model } from './catalog.ts';

/**
 * The price of a model by its name, which is the part of the id that `*` stands for. A name for
 * which it returns undefined, or throws a ConfigurationError as `pricesFrom` does, is unknown.
 */
export type PriceOfName = (name: string) => Price | undefined;

/** Prices by provider and name of a model: what `pricesFrom` returns. */
export type PriceOfListed = (providerId: string, name: string) => Price | undefined;

/**
 * A model; or a wildcard, whose `id` ends in `*`: it serves each id that begins as its own and
 * goes on with the name of a model. The `*` in `upstreamModel` of its channels stands for that
 * name, and so does a missing `upstreamModel`.
 */
export interface ListedModel extends Omit<Model, 'exactId' | 'price'> {
  /** Only of a wildcard may it be a function. */
  readonly price: Price | PriceOfName;
}

/** Only a wildcard has a price function: each list has been checked. */
export function isModel(model: ListedModel): model is Model {
  return !isWildcard(model);
}

/** Whether an id stands for many models. */
export function isWildcard({ id }: Pick<Model, 'id'>): boolean {
  return id.endsWith('*');
}
