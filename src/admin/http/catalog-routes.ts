/**
 * The routes of the catalog. As on channels, none of them can set a URL, a credential or a header,
 * so they change prices alone, and publish nothing else.
 */
import { z } from 'zod';
import type { JsonValue } from '../../json.ts';
import type { Price } from '../../money.ts';
import { priceFromJson } from '../../prices/codec.ts';
import type { PriceJson } from '../../prices/price-json.ts';
import { priceJsonSchema } from '../../prices/schema.ts';
import { AdminError } from '../admin-error.ts';
import { get, integer, post, type Route, route } from './route.ts';

/** Any parsed JSON; the catalog's own check says what is wrong with it. */
const parsedJson = z.custom<JsonValue>((value) => value !== undefined);
const note = z.string().max(500).exactOptional();
const version = z.int().min(0);

export const catalogRoutes: readonly Route[] = [
  route({
    ...get,
    path: '/models',
    summary: 'All models and wildcards, with prices in units and the costs of their channels',
    reply: 'Catalog',
    run: ({ admin }) => ({ data: admin.catalog.models() }),
  }),
  route({
    ...get,
    path: '/catalog/history',
    summary: 'The latest 100 versions of a catalog in a database, the newest first',
    reply: 'CatalogHistory',
    run: async ({ admin }) => ({ data: await admin.catalog.history() }),
  }),
  route({
    ...get,
    path: '/catalog/diff',
    summary: 'What two versions differ in; by default the newest and the one before',
    query: z.strictObject({ from: integer.exactOptional(), to: integer.exactOptional() }),
    reply: 'CatalogDiff',
    run: ({ admin, query }) => admin.catalog.diff(query),
  }),
  route({
    ...post,
    path: '/models/{id}/preview-price',
    summary: 'What a price would change, and what the last 30 days would have cost at it',
    reads: true,
    body: z.strictObject({ price: priceJsonSchema }),
    reply: 'PricePreview',
    run: ({ admin, id, body }) => admin.catalog.previewPrice(id, priceOf(body)),
  }),
  route({
    ...post,
    path: '/models/{id}/price',
    summary: 'Sets the price of a model everywhere, if `after` is still the newest version',
    action: 'model.price',
    body: z.strictObject({ price: priceJsonSchema, after: version.exactOptional(), note }),
    reply: 'CatalogVersion',
    run: ({ admin, access, id, body }) =>
      admin.catalog.setPrice(access.actor, id, { ...body, price: priceOf(body) }),
  }),
  route({
    ...post,
    path: '/catalog/validate',
    summary: 'Checks models in the form of docs/catalog.md; publishes nothing',
    reads: true,
    body: z.strictObject({ models: z.array(parsedJson) }),
    reply: 'CatalogCheck',
    run: ({ admin, body }) => admin.catalog.validate(body.models),
  }),
];

function priceOf({ price: stated }: { readonly price: PriceJson }): Price {
  const price = priceFromJson(stated);
  if (price !== undefined) return price;
  throw new AdminError('invalid_request', 'price is not a price.', { field: 'price' });
}
