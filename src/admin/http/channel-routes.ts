/**
 * The routes of channels and catalogs. None of them can set a URL, a credential or a header:
 * whoever could set one would receive the operator's secret.
 */
import { z } from 'zod';
import type { JsonValue } from '../../json.ts';
import { priceFromJson } from '../../prices/codec.ts';
import { costJsonSchema } from '../../prices/schema.ts';
import { AdminError } from '../admin-error.ts';
import { type Route, route } from './route.ts';
import { get, given, post, shortText } from './shapes.ts';

const where = z.enum(['process', 'everywhere']).optional();
const weight = z.number().min(0).max(1_000_000);
const modelId = shortText.optional();

/** Any parsed JSON; the catalog's own check says what is wrong with it. */
const parsedJson = z.custom<JsonValue>((value) => value !== undefined);

export const channelRoutes: readonly Route[] = [
  route({
    ...get,
    path: '/channels',
    summary: 'Models and their channels, by priority, as this process sees them',
    reply: 'Models',
    run: async ({ admin }) => ({ json: { data: admin.channels.list() } }),
  }),
  route({
    ...post,
    path: '/channels/{id}/disable',
    summary: 'Disables a channel in this process, or everywhere by the weight 0',
    action: 'channel.disable',
    body: z.strictObject({ where }),
    reply: 'ChannelChanged',
    run: async ({ admin, access, id, body }) => ({
      json: await admin.channels.disable(access.actor, id, given(body)),
    }),
  }),
  route({
    ...post,
    path: '/channels/{id}/enable',
    summary: 'Enables a channel in this process, or everywhere by a weight',
    action: 'channel.enable',
    body: z.strictObject({ where, weight: weight.optional() }),
    reply: 'ChannelChanged',
    run: async ({ admin, access, id, body }) => ({
      json: await admin.channels.enable(access.actor, id, given(body)),
    }),
  }),
  route({
    ...post,
    path: '/channels/{id}/weight',
    summary: 'Sets the weight of a channel everywhere',
    action: 'channel.weight',
    body: z.strictObject({ weight, modelId }),
    reply: 'ChannelChanged',
    run: async ({ admin, access, id, body: { weight: share, modelId: model } }) => ({
      json: await admin.channels.setWeight(access.actor, id, {
        weight: share,
        ...given({ modelId: model }),
      }),
    }),
  }),
  route({
    ...post,
    path: '/channels/{id}/priority',
    summary: 'Sets the priority of a channel everywhere',
    action: 'channel.priority',
    body: z.strictObject({ priority: z.int().min(-1_000_000).max(1_000_000), modelId }),
    reply: 'ChannelChanged',
    run: async ({ admin, access, id, body: { priority, modelId: model } }) => ({
      json: await admin.channels.setPriority(access.actor, id, {
        priority,
        ...given({ modelId: model }),
      }),
    }),
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
      const change = { cost, ...given({ modelId: body.modelId }) };
      return { json: await admin.channels.setCost(access.actor, id, change) };
    },
  }),
  route({
    ...post,
    path: '/catalog/validate',
    summary: 'Checks models in the form of docs/catalog.md; publishes nothing',
    reads: true,
    body: z.strictObject({ models: z.array(parsedJson) }),
    reply: 'CatalogCheck',
    run: async ({ admin, body }) => ({ json: await admin.catalog.validate(body.models) }),
  }),
];
