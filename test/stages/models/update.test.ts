// suite: quick
/** A gateway whose options change while it runs. */
import { expect, it } from 'vitest';
import { staticCatalog } from '../../../src/catalog/static-catalog.ts';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { channel, chat, completeReply, model, sampleRequests } from '../../support/models.ts';
import { pass } from '../ports/failing.ts';

it('a call in flight ends with the options it began with: its price, its stores', async () => {
  const { start, upstream, gateway, nextRecord, state, clock } = gatewayInProcess();
  const expensive = model({
    price: {
      per: 'token',
      rates: { input: 1_000_000_000n, output: 1_000_000_000n },
    },
  });
  const other = memoryQuotaStore({ clock });

  const calling = start(sampleRequests.chat);
  const up = await upstream.next();
  gateway.update({ catalog: staticCatalog([expensive]), quota: other });
  await pass(clock, 60_000);
  expect(await state()).toMatchObject({ held: 211n, inFlight: 1 });
  completeReply('chat')(up);
  await calling.reply;

  expect(await nextRecord()).toMatchObject({ chargeNanos: 20n });
  expect(await state()).toEqual({ held: 0n, used: 20n, inFlight: 0 });
});

it('the next call sees the change', async () => {
  const { call, gateway } = gatewayInProcess({ handlers: [completeReply('chat')] });

  expect((await call(chat({ model: 'new' }))).status).toBe(404);
  gateway.update({ catalog: staticCatalog([model({ id: 'new' })]) });

  expect((await call(chat({ model: 'new' }))).status).toBe(200);
  expect((await call(chat())).status).toBe(404);
});

it('a channel that was changed in place is called at its new URL, not at the old one', async () => {
  const changed = { ...channel(), baseUrl: 'https://old.example/v1', credential: 'old-secret' };
  const { call, gateway, upstream } = gatewayInProcess({
    models: [model({ channels: [changed] })],
    handlers: [completeReply('chat'), completeReply('chat')],
  });

  await call(sampleRequests.chat);
  Object.assign(changed, { baseUrl: 'https://new.example/v2', credential: 'new-secret' });
  gateway.update({ catalog: staticCatalog([model({ channels: [changed] })]) });
  await call(sampleRequests.chat);

  const sent = upstream.calls.map(({ request }) => request);
  expect(sent.map(({ origin, path }) => origin + path)).toEqual([
    'https://old.example/v1/chat/completions',
    'https://new.example/v2/chat/completions',
  ]);
  expect(sent.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer old-secret',
    'Bearer new-secret',
  ]);
});

it('options that are not given stay, and undefined restores the default', async () => {
  const { call, gateway } = gatewayInProcess({ options: { maxBodyBytes: 10 } });

  gateway.update({ allowQueryKey: true });
  expect((await call(sampleRequests.chat)).status).toBe(413);
  gateway.update(JSON.parse('{}', () => ({ maxBodyBytes: undefined })));

  expect((await call(chat({ model: 'x' }))).status).toBe(404);
});

it('a bad option changes nothing, not even the good options given with it', async () => {
  const { call, gateway } = gatewayInProcess({ handlers: [completeReply('chat')] });
  const change = { catalog: staticCatalog([]), maxBodyBytes: -1 };

  expect(() => gateway.update(change)).toThrow(/options\.maxBodyBytes must be a positive integer/);

  expect((await call(sampleRequests.chat)).status).toBe(200);
});
