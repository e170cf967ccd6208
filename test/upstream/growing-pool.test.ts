// suite: quick host
/** A host may raise `maxConcurrentCalls` at run time: then each of the calls gets a socket. */
import { expect, it } from 'vitest';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { createGateway } from '../../src/gateway.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { gate } from '../../src/testing/providers/scripts.ts';
import { channel, model, replies, sampleRequests } from '../support/models.ts';
import { rawServer } from './raw-server.ts';

it('as many calls reach the upstream at once as the new limit allows', async () => {
  const bothCame = gate();
  let requests = 0;
  const server = await rawServer(async ({ request, send }) => {
    await request();
    requests += 1;
    if (requests === 2) bothCame.open();
    await bothCame.opened;
    await send(`HTTP/1.1 200 OK\r\ncontent-length: ${replies.chat.length}\r\n\r\n${replies.chat}`);
  });
  const quota = [{ id: 'caller', period: 'total', limitNanos: 1_000n }] as const;
  const gateway = createGateway({
    keys: { find: () => ({ id: 'caller', group: 'staff', disabled: false, quota }) },
    quota: memoryQuotaStore(),
    catalog: staticCatalog([model({ channels: [channel({ baseUrl: `${server.origin}/v1` })] })]),
    maxConcurrentCalls: 1,
  });
  const headers = { authorization: 'Bearer caller-secret' };
  const request = {
    method: 'POST',
    path: sampleRequests.chat.path,
    search: '',
    headers,
    rawHeaders: Object.entries(headers).flat(),
    body: Buffer.from(JSON.stringify(sampleRequests.chat.body)),
    onClose: () => {},
  };

  gateway.update({ maxConcurrentCalls: 4 });
  const answers = await Promise.all([gateway.handle(request), gateway.handle(request)]);

  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  await gateway.close();
  await server.close();
});
