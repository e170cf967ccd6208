/** The example's chat app over the strict upstream, for the tests of its page. */
import { createServer } from 'node:http';
import { memoryKeyStore, memoryQuotaStore, staticCatalog } from 'tollgate';
import { onTestFinished } from 'vitest';
import { chatApp } from '../../examples/chat/server.ts';
import type { FakeUpstream } from '../../src/testing/providers/server.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { closed, listening } from '../support/servers.ts';

/** Runs until the end of the test. */
export async function chatHost(): Promise<{
  readonly origin: string;
  readonly upstream: FakeUpstream;
}> {
  const upstream = await startStrictUpstream();
  const { openaiBaseUrl: baseUrl } = upstream;
  const channel = { id: 'openai', dialect: 'openai', baseUrl, credential: 'none' } as const;
  const { app, gateway } = chatApp({
    keys: memoryKeyStore(),
    quota: memoryQuotaStore(),
    catalog: staticCatalog([
      { id: 'gpt-4o-mini', groups: ['pro'], price: { per: 'free' }, channels: [channel] },
    ]),
  });
  const server = createServer(app);
  const origin = await listening(server);
  onTestFinished(async () => {
    await closed(server);
    await gateway.close({ drainMs: 1 });
    await upstream.close();
  });
  return { origin, upstream };
}

/** An event of a streamed reply. */
export function delta(content: string) {
  return { choices: [{ index: 0, delta: { content } }] };
}
