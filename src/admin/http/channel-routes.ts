/**
 * The routes of channels. None of them can set a URL, a credential or a header: whoever could set
 * one would receive the operator's secret.
 */
import { z } from 'zod';
import { priceFromJson } from '../../prices/codec.ts';
import { costJsonSchema } from '../../prices/schema.ts';
import { AdminError } from '../admin-error.ts';
import { get, post, type Route, route, shortText } from './route.ts';

const where = z.enum(['process', 'everywhere']).exactOptional();
const weight = z.number().min(0).max(1_000_000);
const modelId = shortText.exactOptional();

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
      json: await admin.channels.disable(access.actor, id, body),
    }),
  }),
  route({
    ...post,
    path: '/channels/{id}/enable',
    summary: 'Enables a channel in this process, or everywhere by a weight',
    action: 'channel.enable',
    body: z.strictObject({ where, weight: weight.exactOptional() }),
    reply: 'ChannelChanged',
    run: async ({ admin, access, id, body }) => ({
      json: await admin.channels.enable(access.actor, id, body),
    }),
  }),
  route({
    ...post,
    path: '/channels/{id}/weight',
    summary: 'Sets the weight of a channel everywhere',
    action: 'channel.weight',
    body: z.strictObject({ weight, modelId }),
    reply: 'ChannelChanged',
    run: async ({ admin, access, id, body }) => ({
      json: await admin.channels.setWeight(access.actor, id, body),
    }),
  }),
  route({
    ...post,
    path: '/channels/{id}/priority',
    summary: 'Sets the priority of a channel everywhere',
    action: 'channel.priority',
    body: z.strictObject({ priority: z.int().min(-1_000_000).max(1_000_000), modelId }),
    reply: 'ChannelChanged',
    run: async ({ admin, access, id, body }) => ({
      json: await admin.channels.setPriority(access.actor, id, body),
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
      return { json: await admin.channels.setCost(access.actor, id, { ...body, cost }) };
    },
  }),
];
