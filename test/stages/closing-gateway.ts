/**
 * A host that closes its gateway when one call is done and another still runs. It never calls
 * `process.exit`: it exits when nothing is left to run.
 */

import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { createGateway } from '../../src/gateway.ts';
import { issueKey } from '../../src/issue-key.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { gate, sse } from '../../src/testing/providers/scripts.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { channel, model } from '../support/models.ts';

const upstream = await startStrictUpstream();
const { secret, key } = issueKey({ group: 'staff', limitNanos: 1_000_000n });
const keys = memoryKeyStore();
keys.add(secret, key);
const channels = [channel({ baseUrl: upstream.openaiBaseUrl })];
const gateway = createGateway({
  keys,
  quota: memoryQuotaStore(),
  catalog: staticCatalog([model({ channels })]),
});

const whole = await answer(false);
const delta = { choices: [{ index: 0, delta: { content: 'Once' }, finish_reason: null }] };
upstream.enqueue(sse([delta, gate().opened]));
const stream = await answer(true);
const text = stream.text();
await gateway.close({ drainMs: 50 });
const end = (await text).includes('"error"') ? 'with an error' : 'without an error';
await upstream.close();
process.stdout.write(`complete ${whole.status}, cut ${stream.status} ${end}, closed\n`);

/** Sends a call and reads its response. */
async function answer(isStream: boolean): Promise<{ status: number; text(): Promise<string> }> {
  const headers = { authorization: `Bearer ${secret}` };
  const messages = [{ role: 'user', content: 'hi' }];
  const { status, body } = await gateway.handle({
    method: 'POST',
    path: '/v1/chat/completions',
    search: '',
    headers,
    rawHeaders: Object.entries(headers).flat(),
    body: Buffer.from(JSON.stringify({ model: 'chat', messages, stream: isStream })),
    onClose: () => {},
  });
  if (body instanceof Uint8Array) return { status, text: async () => body.toString() };
  const readable = body.readable();
  return { status, text: async () => Buffer.concat(await readable.toArray()).toString() };
}
