// suite: slow
/** The example sends each user's own key, and the operator's for the others. */
import { expect, it, onTestFinished } from 'vitest';
import { openaiChannel, ownKeysOnly } from '../../examples/own-provider-keys.ts';
import { type Channel, createGateway, memoryQuotaStore, staticCatalog } from '../../src/index.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { requestOf } from '../support/gateway-in-process.ts';

const secrets: Readonly<Record<string, string>> = { ada: 'sk-of-ada-0123456789' };
const vault = { openaiKeyOf: async (userId: string) => secrets[userId] };

it('examples/own-provider-keys uses the operator’s key for users without one', async () => {
  const { call, sent } = await gatewayOver((baseUrl) => openaiChannel(baseUrl, 'sk-main', vault));

  expect([await call('ada'), await call('eve')]).toEqual([200, 200]);
  expect(sent()).toEqual(['Bearer sk-of-ada-0123456789', 'Bearer sk-main']);
});

it('examples/own-provider-keys may also leave users without a key to other channels', async () => {
  const { call, sent } = await gatewayOver((baseUrl) => ownKeysOnly(baseUrl, vault));

  expect([await call('ada'), await call('eve')]).toEqual([200, 503]);
  expect(sent()).toEqual(['Bearer sk-of-ada-0123456789']);
});

/** A gateway with one channel, whose keys are the names of users. */
async function gatewayOver(channelOf: (baseUrl: string) => Channel) {
  const upstream = await startStrictUpstream();
  const gateway = createGateway({
    keys: {
      find: (id) => ({
        id,
        group: 'users',
        disabled: false,
        quota: [{ id, period: 'total', limitNanos: 1n }],
      }),
    },
    quota: memoryQuotaStore(),
    catalog: staticCatalog([
      {
        id: 'gpt-4o-mini',
        groups: ['users'],
        price: { per: 'free' },
        channels: [channelOf(upstream.openaiBaseUrl)],
      },
    ]),
  });
  onTestFinished(async () => {
    await gateway.close({ drainMs: 1 });
    await upstream.close();
  });
  return {
    call: async (user: string): Promise<number> => {
      const headers = { authorization: `Bearer ${user}`, 'content-type': 'application/json' };
      const messages = [{ role: 'user', content: 'Say hello.' }];
      const request = requestOf(
        { path: '/v1/chat/completions', headers, body: { model: 'gpt-4o-mini', messages } },
        [],
      );
      return (await gateway.handle(request)).status;
    },
    sent: () => upstream.calls.map(({ headers }) => headers.authorization),
  };
}
