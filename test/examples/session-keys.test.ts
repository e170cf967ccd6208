// suite: slow host
/** The example's users call from the app's own page, over HTTP; a form of another site can't. */
import { createServer } from 'node:http';
import { nodeAdapter } from 'tollgate/node';
import { expect, it, onTestFinished } from 'vitest';
import { gatewayWithSessions } from '../../examples/session-keys.ts';
import { memoryKeyStore, memoryQuotaStore, staticCatalog } from '../../src/index.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { closed, listening } from '../support/servers.ts';

it('examples/session-keys charges the session’s user, nobody for a foreign form', async () => {
  const upstream = await startStrictUpstream();
  const gateway = gatewayWithSessions(
    {
      keys: memoryKeyStore(),
      quota: memoryQuotaStore(),
      catalog: staticCatalog([
        {
          id: 'gpt-4o-mini',
          groups: ['pro'],
          price: { per: 'free' },
          channels: [
            { id: 'a', dialect: 'openai', baseUrl: upstream.openaiBaseUrl, credential: 'none' },
          ],
        },
      ]),
    },
    { userOf: async (sid) => (sid === 'session-1' ? { id: 'ada', plan: 'pro' } : undefined) },
  );
  const server = createServer(nodeAdapter(gateway));
  const origin = await listening(server);
  onTestFinished(async () => {
    await closed(server);
    await gateway.close({ drainMs: 1 });
    await upstream.close();
  });
  const body = JSON.stringify({
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: 'Say hello.' }],
  });
  const statusOf = async (headers: Readonly<Record<string, string>>): Promise<number> => {
    const url = `${origin}/v1/chat/completions`;
    const answer = await fetch(url, { method: 'POST', headers, body });
    await answer.arrayBuffer();
    return answer.status;
  };
  const page = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };

  expect(await statusOf({ ...page, cookie: 'theme=dark; sid=session-1' })).toBe(200);
  expect(await statusOf({ ...page, cookie: 'sid=session-2' })).toBe(401);
  const form = { 'content-type': 'text/plain', 'sec-fetch-site': 'cross-site' };
  expect(await statusOf({ ...form, cookie: 'sid=session-1' })).toBe(401);
  expect(upstream.calls).toHaveLength(1);
});
