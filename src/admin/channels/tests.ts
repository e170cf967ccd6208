/** Tests of channels by operators: one short call, audited, at most once a second. */

import type { Channel, Model } from '../../ports/models/catalog.ts';
import { isModel } from '../../ports/models/listed-model.ts';
import type { ChannelTest } from '../../stages/channel-test.ts';
import { AdminError, invalid, notSupported } from '../admin-error.ts';
import { type Explained, explained } from '../calls/summary.ts';
import type { AdminDeps } from '../deps.ts';
import { noChannel } from './list.ts';

/** Which model a channel is tested with. */
export interface TestOptions {
  /** Default: the first model of the channel that has a cheap call. */
  readonly modelId?: string;
}

/** The result of a test, in words too. */
export interface ChannelTested extends ChannelTest, Explained {}

/** Each test costs money, and a script may repeat it. */
const everyMs = 1_000;

export function channelTests(deps: AdminDeps) {
  const { audit, clock } = deps;
  let freeMs = Number.NEGATIVE_INFINITY;
  return (
    actor: string,
    channelId: string,
    { modelId }: TestOptions = {},
  ): Promise<ChannelTested> =>
    audit.run(
      { actor, action: 'channel.test', target: channelId, change: { modelId: modelId ?? null } },
      async () => {
        const models = modelsWith(deps, channelId, modelId);
        if (clock.monotonicMs() < freeMs) {
          throw new AdminError('conflict', 'One test a second. Try again in a moment.');
        }
        freeMs = clock.monotonicMs() + everyMs;
        return testFirst(deps, models);
      },
      ({ modelId: tested, passed, status, chargeNanos }) => ({
        change: {
          ...{ modelId: tested, passed, status: status ?? null },
          chargeNanos: String(chargeNanos),
        },
      }),
    );
}

type Candidate = readonly [model: Model, channel: Channel];

function modelsWith(
  { stores: { catalog } }: AdminDeps,
  channelId: string,
  modelId: string | undefined,
): readonly Candidate[] {
  const models = catalog?.models?.();
  if (models === undefined) {
    throw notSupported('The catalog can’t list its models.', 'Give createAdmin one that can.');
  }
  const all = models.flatMap((model) =>
    model.channels.filter(({ id }) => id === channelId).map((channel) => [model, channel] as const),
  );
  if (all.length === 0) throw noChannel(channelId);
  const found = all.flatMap(([model, channel]): readonly Candidate[] =>
    isModel(model) && (modelId === undefined || model.id === modelId) ? [[model, channel]] : [],
  );
  if (found.length > 0) return found;
  const message =
    modelId === undefined
      ? 'The channel has wildcards only, which name no model.'
      : `The channel does not serve a model "${modelId.slice(0, 128)}".`;
  throw invalid('modelId', message);
}

async function testFirst(
  { gateway }: AdminDeps,
  models: readonly Candidate[],
): Promise<ChannelTested> {
  for (const [model, channel] of models) {
    const test = await gateway.testChannel(model, channel);
    if (test !== undefined) return { ...test, ...explained(test.reason) };
  }
  throw invalid('modelId', 'An image or native call costs more than a test should.');
}
