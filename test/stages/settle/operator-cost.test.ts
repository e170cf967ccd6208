// suite: quick
/** The operator's cost of a call, by the price of the channel that served it. */
import { expect, it } from 'vitest';
import { chargePolicy } from '../../../src/charge-policy.ts';
import type { Price } from '../../../src/money.ts';
import { imagePrice, tokenPrice } from '../../../src/prices/codec.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import {
  channel,
  completeReply,
  image,
  model,
  sampleRequests,
  streamBeginnings,
} from '../../support/models.ts';

/** A fifth of what the caller pays. */
const cost: Price = { per: 'token', rates: { input: 200_000n, output: 400_000n } };
const free: Price = { per: 'free' };

it.each([
  ['a call', {}, 20n, 4n],
  ['a call that is free for its caller', { price: free }, 0n, 4n],
])('of %s', async (_what, change, chargeNanos, costNanos) => {
  const harness = gatewayInProcess({
    models: [model({ ...change, channels: [channel({ cost })] })],
    handlers: [completeReply('chat')],
  });

  await harness.call(sampleRequests.chat);

  expect(await harness.nextRecord()).toMatchObject({ chargeNanos, costNanos });
});

it('is unknown if the channel does not state it', async () => {
  const harness = gatewayInProcess({ handlers: [completeReply('chat')] });

  await harness.call(sampleRequests.chat);

  expect(await harness.nextRecord()).toMatchObject({ costNanos: undefined });
});

it('is that of the channel that replied', async () => {
  const first = channel({ cost: tokenPrice({ input: '9', output: '9' }) });
  const second = channel({ id: 'openai-b', priority: 1, cost });
  const harness = gatewayInProcess({
    models: [model({ channels: [first, second] })],
    handlers: [(up) => up.answer(500, {}), completeReply('chat')],
  });

  await harness.call(sampleRequests.chat);

  expect(await harness.nextRecord()).toMatchObject({ channelId: 'openai-b', costNanos: 4n });
});

it('is nothing for a call that did not run', async () => {
  const harness = gatewayInProcess({
    models: [model({ channels: [channel({ cost })] })],
    handlers: [(up) => up.answer(400, { error: { message: 'No.' } })],
  });

  await harness.call(sampleRequests.chat);

  expect(await harness.nextRecord()).toMatchObject({ chargeNanos: 0n, costNanos: 0n });
});

it.each([
  ['release', 0n],
  ['nothing', 0n],
  ['usage', 20n],
  ['observed', 20n],
] as const)('does not depend on the rule for the caller: %s', async (whole, chargeNanos) => {
  const complete = { ...chargePolicy.complete, whole };
  const harness = gatewayInProcess({
    models: [model({ channels: [channel({ cost })] })],
    handlers: [completeReply('chat')],
    options: { chargePolicy: { ...chargePolicy, complete } },
  });

  await harness.call(sampleRequests.chat);

  expect(await harness.nextRecord()).toMatchObject({ chargeNanos, costNanos: 4n });
});

it('is counted like the charge if the upstream states no usage', async () => {
  const harness = gatewayInProcess({ models: [model({ channels: [channel({ cost })] })] });
  const calling = harness.start(sampleRequests.chatStream);
  const up = await harness.upstream.next();
  up.answer(200, streamBeginnings.chatStream, { 'content-type': 'text/event-stream' });
  await calling.reply;

  const { chargeNanos, costNanos } = await harness.nextRecord();

  expect(chargeNanos).toBeGreaterThan(0n);
  expect(costNanos).toBe((chargeNanos + 4n) / 5n);
});

it('of images depends on their size, and is unknown for one without a price', async () => {
  const images = imagePrice([{ size: '1024x1024', price: '0.00000003' }]);
  const records = await Promise.all(
    ['1024x1024', '512x512'].map(async (size) => {
      const harness = gatewayInProcess({
        models: [
          model({
            id: 'image',
            protocols: ['images'],
            price: imagePrice([{ price: '0.0000005' }]),
            channels: [channel({ cost: images })],
          }),
        ],
        handlers: [completeReply('image')],
      });
      await harness.call(image({ size }));
      return harness.nextRecord();
    }),
  );

  expect(records.map(({ costNanos }) => costNanos)).toEqual([30n, undefined]);
});
