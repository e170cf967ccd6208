/**
 * The routes of channels. None of them can set a URL, a credential or a header: whoever could set
 * one would receive the operator's secret.
 */
import { z } from 'zod';
import { priceFromJson } from '../../prices/codec.ts';
import { costJsonSchema } from '../../prices/schema.ts';
import { AdminError } from '../admin-error.ts';
import { get, integer, post, type Route, route, shortText } from './route.ts';

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
