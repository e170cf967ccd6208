/**
 * The option `responses`: what the gateway remembers of replies, so that later calls may refer to
 * them.
 */
import type { ItemStore } from './item-store.ts';
import type { ResponseIndex } from './response-index.ts';

/** What the gateway remembers of replies of `POST /v1/responses`. */
export interface ResponseOptions {
  /** Knows whose a response is and on which account it is stored. Default: in memory. */
  readonly index?: ResponseIndex;
  /**
   * Keeps the output items of translated replies; `false` keeps none, and such replies say
   * `store: false`. Default: in memory.
   */
  readonly items?: ItemStore | false;
  /**
   * A call that refers to a response or an item that the index does not know. `refuse`: 404, as for
   * another key's. `relay`: it is sent to the provider, so that any key may use any id of the
   * account; only for gateways whose keys trust each other, with one account.
   */
  readonly unknownReferences?: 'refuse' | 'relay';
  /** How many stored responses and items one call may refer to; above it, 400. */
  readonly maxReferences?: number;
  /** How long the index knows an id, in ms. */
  readonly indexTtlMs?: number;
  /** How long an item is kept, in ms. */
  readonly itemTtlMs?: number;
}

/** The same with all defaults filled in. */
export type ResponseSettings = Readonly<Required<Omit<ResponseOptions, 'items'>>> & {
  readonly items: ItemStore | undefined;
};

/** The defaults; the stores are made for each gateway. */
export const defaultResponseOptions: Omit<ResponseSettings, 'index' | 'items'> & {
  readonly index: undefined;
  readonly items: undefined;
} = {
  index: undefined,
  items: undefined,
  unknownReferences: 'refuse',
  maxReferences: 512,
  indexTtlMs: 24 * 60 * 60 * 1000,
  itemTtlMs: 60 * 60 * 1000,
};
