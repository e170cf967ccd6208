/**
 * The routes of the catalog and of channels, and of the audit trail, which is only read. None of
 * them can set a URL, a credential or a header: whoever could set one would receive the operator's
 * secret. So they change prices alone, and publish nothing else.
 */
import { z } from 'zod';
import type { JsonValue } from '../../json.ts';
import type { Price } from '../../money.ts';
import { priceFromJson } from '../../prices/codec.ts';
import type { PriceJson } from '../../prices/price-json.ts';
import { costJsonSchema, priceJsonSchema } from '../../prices/schema.ts';
import { AdminError } from '../admin-error.ts';
import { get, integer, paging, post, type Route, route, shortText } from './route.ts';

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

const weight = z.number().min(0).max(1_000_000);
const modelId = shortText.exactOptional();

export const channelRoutes: readonly Route[] = [
  route({
    ...get,
    path: '/channels',
    summary: 'Models and their channels, by priority, as this process sees them',
    reply: 'Models',
    run: ({ admin }) => ({ data: admin.channels.list() }),
  }),
  route({
    ...get,
    path: '/channels/accounts',
    summary: 'Channels by account, the failing ones first: attempts, failures, calls and money',
    query: z.strictObject({ fromMs: integer.exactOptional(), toMs: integer.exactOptional() }),
    reply: 'Accounts',
    run: ({ admin, query, signal }) => admin.channels.accounts(query, { signal }),
  }),
  route({
    ...get,
    path: '/replicas',
    summary: 'The processes that share switches of channels, and those switches',
    reply: 'Cluster',
    run: ({ admin }) => admin.channels.replicas(),
  }),
  route({
    ...post,
    path: '/channels/{id}/disable',
    summary: 'Disables a channel in all replicas, or without a shared store in this process',
    action: 'channel.disable',
    reply: 'ChannelSwitched',
    run: ({ admin, access, id }) => admin.channels.disable(access.actor, id),
  }),
  route({
    ...post,
    path: '/channels/{id}/enable',
    summary: 'Enables a channel where it was disabled, and clears its recorded failures',
    action: 'channel.enable',
    reply: 'ChannelSwitched',
    run: ({ admin, access, id }) => admin.channels.enable(access.actor, id),
  }),
  route({
    ...post,
    path: '/channels/{id}/test',
    summary: 'Sends one short call through a channel, which costs money; at most one a second',
    action: 'channel.test',
    body: z.strictObject({ modelId }),
    reply: 'ChannelTested',
    run: ({ admin, access, id, body }) => admin.channels.test(access.actor, id, body),
  }),
  route({
    ...post,
    path: '/channels/{id}/weight',
    summary: 'Sets the weight of a channel everywhere',
    action: 'channel.weight',
    body: z.strictObject({ weight, modelId }),
    reply: 'ChannelChanged',
    run: ({ admin, access, id, body }) => admin.channels.setWeight(access.actor, id, body),
  }),
  route({
    ...post,
    path: '/channels/{id}/priority',
    summary: 'Sets the priority of a channel everywhere',
    action: 'channel.priority',
    body: z.strictObject({ priority: z.int().min(-1_000_000).max(1_000_000), modelId }),
    reply: 'ChannelChanged',
    run: ({ admin, access, id, body }) => admin.channels.setPriority(access.actor, id, body),
  }),
  route({
    ...post,
    path: '/channels/{id}/cost',
    summary: 'Sets what a channel costs the operator; null removes the cost',
    action: 'channel.cost',
    body: z.strictObject({ cost: costJsonSchema.nullable(), modelId }),
    reply: 'ChannelChanged',
    run: async ({ admin, access, id, body }) => {
      const { cost: stated } = body;
      const cost = stated === null || stated === 'reported' ? stated : priceFromJson(stated);
      if (cost === undefined) throw new AdminError('invalid_request', 'cost is not a price.');
      return admin.channels.setCost(access.actor, id, { ...body, cost });
    },
  }),
];

const selected = {
  actor: shortText.exactOptional(),
  action: shortText.exactOptional(),
  target: shortText.exactOptional(),
  outcome: z.enum(['done', 'failed', 'refused']).exactOptional(),
  fromMs: integer.exactOptional(),
  toMs: integer.exactOptional(),
};

export const auditRoutes: readonly Route[] = [
  route({
    ...get,
    path: '/audit',
    summary: 'Changes by operators, the latest first; `action` also selects all of a kind: `key`',
    query: z.strictObject({ ...selected, ...paging }),
    reply: 'Audit',
    run: ({ admin, query }) => admin.audit.list(query),
  }),
  route({
    ...get,
    path: '/audit.csv',
    summary: 'The same as CSV, all of them',
    query: z.strictObject(selected),
    run: async ({ admin, query }) => ({ fileName: 'audit.csv', csv: admin.audit.csv(query) }),
  }),
];
