/**
 * The option `responses`: what the gateway remembers of replies, so that later calls may refer to
 * them.
 */
import type { ItemStore } from './item-store.ts';
import type { ResponseIndex } from './response-index.ts';

/** What the gateway remembers of replies of `POST /v1/responses`. */
export interface ResponseOptions {
  /**
   * Knows whose a response is and on which account it is stored.
   *
   * @defaultValue in memory: 100,000 ids
   */
  readonly index?: ResponseIndex;
  /**
   * Keeps the output items of translated replies, so that a later call may refer to them, as the AI
   * SDK does by default; `false` keeps none, and such replies say `store: false`.
   *
   * @defaultValue in memory: 64 MiB, a quarter of it for one key
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
