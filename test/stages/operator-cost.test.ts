/** The operator's cost of a call, by the price of the channel that served it. */
import { expect, it } from 'vitest';
import type { Price } from '../../src/money.ts';
import { imagePrice, tokenPrice } from '../../src/prices/codec.ts';
import { scene } from './scene.ts';
import { ask, begun, channel, image, model, whole } from './scene-models.ts';

/** A fifth of what the caller pays. */
const cost = tokenPrice({ input: '0.0002', output: '0.0004' });
const free: Price = { per: 'free' };

it.each([
  ['a call', {}, 20n, 4n],
  ['a call that is free for its caller', { price: free }, 0n, 4n],
])('of %s', async (_what, change, chargeNanos, costNanos) => {
  const set = scene({
    models: [model({ ...change, channels: [channel({ cost })] })],
    plays: [whole('chat')],
  });

  await set.call(ask.chat);

  expect(await set.nextRecord()).toMatchObject({ chargeNanos, costNanos });
});

it('is unknown if the channel does not state it', async () => {
  const set = scene({ plays: [whole('chat')] });

  await set.call(ask.chat);

  expect(await set.nextRecord()).toMatchObject({ costNanos: undefined });
});

it('is that of the channel that replied', async () => {
  const first = channel({ cost: tokenPrice({ input: '9', output: '9' }) });
  const second = channel({ id: 'openai-b', priority: 1, cost });
  const set = scene({
    models: [model({ channels: [first, second] })],
    plays: [(up) => up.answer(500, {}), whole('chat')],
  });

  await set.call(ask.chat);

  expect(await set.nextRecord()).toMatchObject({ channelId: 'openai-b', costNanos: 4n });
});

it('is nothing for a call that did not run', async () => {
  const set = scene({
    models: [model({ channels: [channel({ cost })] })],
    plays: [(up) => up.answer(400, { error: { message: 'No.' } })],
  });

  await set.call(ask.chat);

  expect(await set.nextRecord()).toMatchObject({ chargeNanos: 0n, costNanos: 0n });
});

it('is counted like the charge if the upstream states no usage', async () => {
  const set = scene({ models: [model({ channels: [channel({ cost })] })] });
  const calling = set.start(ask.chatStream);
  const up = await set.upstream.next();
  up.answer(200, begun.chatStream, { 'content-type': 'text/event-stream' });
  await calling.answer;

  const { chargeNanos, costNanos } = await set.nextRecord();

  expect(chargeNanos).toBeGreaterThan(0n);
  expect(costNanos).toBe((chargeNanos + 4n) / 5n);
});

it('of images depends on their size, and is unknown for one without a price', async () => {
  const images = imagePrice([{ size: '1024x1024', price: '0.00000003' }]);
  const records = await Promise.all(
    ['1024x1024', '512x512'].map(async (size) => {
      const set = scene({
        models: [
          model({
            id: 'image',
            protocols: ['images'],
            price: imagePrice([{ price: '0.0000005' }]),
            channels: [channel({ cost: images })],
          }),
        ],
        plays: [whole('image')],
      });
      await set.call(image({ size }));
      return set.nextRecord();
    }),
  );

  expect(records.map(({ costNanos }) => costNanos)).toEqual([30n, undefined]);
});
