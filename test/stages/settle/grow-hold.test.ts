// suite: quick
/** The hold of a stream without a stated maximum grows as fast as the stream. */
import { expect, it } from 'vitest';
import type { ExtendResult } from '../../../src/ports/limits/quota-store.ts';
import { gate } from '../../../src/testing/providers/scripts.ts';
import { gatewayInProcess, type InProcessGateway } from '../../support/gateway-in-process.ts';
import { chat, events, headersOf, streamBeginnings } from '../../support/models.ts';
import { pass, turns } from '../ports/failing.ts';

const held = 11n + 2n * 16_384n;
const request = chat({ model: 'open', stream: true });
/** More than a whole hold in one event. */
const huge = events({ choices: [{ index: 0, delta: { content: 'x'.repeat(120_000) } }] });
const end = 'data: [DONE]\n\n';

type Up = Awaited<ReturnType<InProcessGateway['upstream']['next']>>;

async function begin(
  harness: InProcessGateway,
): Promise<{ readonly up: Up; readonly calling: ReturnType<InProcessGateway['start']> }> {
  const calling = harness.start(request);
  const up = await harness.upstream.next();
  up.respond(200, headersOf('chatStream'));
  up.write(streamBeginnings.chatStream);
  await calling.firstBytes;
  return { up, calling };
}

it('a stream that sends 400,000 tokens in one burst is held and charged in full', async () => {
  let extends_ = 0;
  const harness = gatewayInProcess({
    store: (quota) => ({
      extend: (inputs, options) => {
        extends_ += 1;
        return quota.extend(inputs, options);
      },
    }),
  });
  const { up, calling } = await begin(harness);

  for (let event = 0; event < 10; event += 1) {
    up.write(huge);
    await turns();
  }
  up.write(end);
  await calling.reply;

  const { chargeNanos, heldNanos } = await harness.nextRecord();
  expect(chargeNanos).toBeGreaterThan(600_000n);
  expect(heldNanos).toBeGreaterThanOrEqual(chargeNanos);
  // One request for each hold that was used up, and none for each event.
  expect(extends_).toBeLessThanOrEqual(Number(heldNanos / held) + 1);
});

it('is cut if the store refuses to grow the hold, and costs no more than was held', async () => {
  const harness = gatewayInProcess({
    key: { quota: [{ id: 'caller', period: 'total', limitNanos: 2n * held }] },
  });
  const { up, calling } = await begin(harness);

  for (let event = 0; event < 3; event += 1) {
    up.write(huge);
    await turns();
  }

  expect(up.abortReason).toBe('hold_used_up');
  expect((await calling.reply).text).toMatch(/quota of this key ran out/);
  expect(await harness.nextRecord()).toMatchObject({ outcome: 'cut', chargeNanos: 2n * held });
});

it('pauses for a slow store, and continues with its answer', async () => {
  const answered = gate();
  const harness = gatewayInProcess({
    store: (quota) => ({
      extend: async (inputs, options) => {
        await answered.opened;
        return quota.extend(inputs, options);
      },
    }),
  });
  const { up, calling } = await begin(harness);

  up.write(huge);
  await turns();
  expect(up.isPaused).toBe(true);
  answered.open();
  await turns();

  expect(up.isPaused).toBe(false);
  up.write(end);
  await calling.reply;
  expect(await harness.nextRecord()).toMatchObject({ outcome: 'complete' });
});

it('retries a failing store every second, and continues when it is back', async () => {
  let isDown = true;
  const harness = gatewayInProcess({
    store: (quota) => ({
      extend: (inputs, options): ReturnType<typeof quota.extend> => {
        if (isDown) throw new Error('down');
        return quota.extend(inputs, options);
      },
    }),
  });
  const { up, calling } = await begin(harness);

  up.write(huge);
  await turns();
  await pass(harness.clock, 3_000);
  expect(up.isPaused).toBe(true);
  isDown = false;
  await pass(harness.clock, 1_000);

  expect(up.isPaused).toBe(false);
  up.write(end);
  await calling.reply;
  expect(await harness.nextRecord()).toMatchObject({ outcome: 'complete' });
});

it('continues without a hold that the store has lost', async () => {
  const gone: readonly ExtendResult[] = [{ status: 'gone', as: 'expired' }];
  const harness = gatewayInProcess({ store: () => ({ extend: () => gone }) });
  const { up, calling } = await begin(harness);

  up.write(huge);
  await turns();

  expect(up.isPaused).toBe(false);
  up.write(end);
  await calling.reply;
  expect(harness.eventTypes()).toContain('hold_lapsed');
});
