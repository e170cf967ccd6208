/**
 * A host in Bun or Deno, with the runtime's own server: the contracts of the adapter and of the
 * upstream client, and calls through a gateway. Prints what fails, and nothing else.
 */
import { deepEqual, equal, match, rejects, throws } from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import * as tollgate from 'tollgate';
import { fetchAdapter, fetchUpstreamClient } from 'tollgate/fetch';
import {
  adapterContract,
  script,
  startFakeUpstream,
  upstreamClientContract,
} from 'tollgate/testing';

const isBun = globalThis.Bun !== undefined;
const upstreamClient = isBun ? fetchUpstreamClient : tollgate.undiciClient;
const deadlineMs = 60_000;
let failures = 0;

function serve(handler) {
  const address = { port: 0, hostname: '127.0.0.1' };
  if (isBun) {
    const server = globalThis.Bun.serve({ ...address, idleTimeout: 0, fetch: handler });
    return { url: `http://127.0.0.1:${server.port}`, cleanup: () => server.stop(true) };
  }
  const stopped = new AbortController();
  const { signal } = stopped;
  const options = { ...address, signal, onListen: () => {}, onError: unlessCut };
  const server = globalThis.Deno.serve(options, handler);
  return { url: `http://127.0.0.1:${server.addr.port}`, cleanup: () => stopped.abort() };
}

/** Runs a case, and reports it if it fails or does not end. */
async function check(name, run) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('did not end')), deadlineMs);
  });
  await Promise.race([run(), late]).catch((error) => failed(`${name}: ${error?.stack}`));
  clearTimeout(timer);
}

function failed(text) {
  failures += 1;
  console.log(String(text));
}

/** Deno also reports the body of a response that fails, as it must for a reply that is cut. */
function unlessCut(error) {
  if (error.message !== 'The reply was cut.') failed(error);
  return new Response(null, { status: 500 });
}

for (const { name, run } of upstreamClientContract(() => ({ client: upstreamClient() }))) {
  await check(name, run);
}
for (const { name, run } of adapterContract((gateway) => serve(fetchAdapter(gateway)))) {
  await check(name, run);
}

/** An upstream whose connection ends in the middle of each body. */
const cutting = createServer((socket) => {
  socket.on('error', () => {});
  socket.once('data', () => {
    const head =
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2000000\r\n\r\n';
    const text = 'A'.repeat(1_000_000);
    const body = `{"choices":[{"index":0,"message":{"content":"${text}`;
    socket.write(head + body, () => socket.destroy());
  });
});
cutting.listen(0, '127.0.0.1');
await once(cutting, 'listening');

const upstream = await startFakeUpstream();
const issued = tollgate.issueKey({ group: 'staff', limitNanos: 10n ** 12n });
const usage = tollgate.memoryUsageSink();
const channel = { dialect: 'openai', credential: 'upstream-secret' };
const model = {
  groups: ['staff'],
  channels: [{ ...channel, id: 'fake', baseUrl: upstream.openaiBaseUrl }],
};
const price = tollgate.tokenPrice({ input: '1', output: '2' });
const options = {
  keys: tollgate.memoryKeyStore({ keys: [issued] }),
  quota: tollgate.memoryQuotaStore(),
  catalog: tollgate.staticCatalog([
    { ...model, id: 'chat', price },
    {
      ...model,
      id: 'cut',
      price,
      channels: [
        { ...channel, id: 'cut', baseUrl: `http://127.0.0.1:${cutting.address().port}/v1` },
      ],
    },
    {
      ...model,
      id: 'image',
      protocols: ['images'],
      price: tollgate.imagePrice([{ size: '1024x1024', price: '0.04' }]),
    },
  ]),
  usage,
  maxBodyBytes: 1024 * 1024,
};
if (isBun) {
  await check('Bun needs its own upstream client', async () => {
    throws(() => tollgate.createGateway(options), /fetchUpstreamClient\(\) of tollgate\/fetch/);
  });
}
const gateway = tollgate.createGateway({ ...options, upstream: upstreamClient() });
const host = serve(fetchAdapter(gateway));

function call(path, body, init = {}) {
  return fetch(`${host.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${issued.secret}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
  });
}
const chat = { model: 'chat', messages: [{ role: 'user', content: 'Hello!' }] };
const event = (content) => JSON.stringify({ choices: [{ index: 0, delta: { content } }] });

await check('a chat', async () => {
  const response = await call('/v1/chat/completions', chat);
  equal(response.status, 200);
  equal((await response.json()).object, 'chat.completion');
});
await check('a stream', async () => {
  const response = await call('/v1/chat/completions', { ...chat, stream: true });
  match(await response.text(), /data: \[DONE\]\n\n$/);
});
await check('an image', async () => {
  const image = { model: 'image', prompt: 'A cat.', size: '1024x1024' };
  const response = await call('/v1/images/generations', image);
  equal(response.status, 200);
  equal((await response.json()).data.length, 1);
});
await check('refusals', async () => {
  const noKey = await call('/v1/chat/completions', chat, { headers: {} });
  const tooLarge = await call('/v1/chat/completions', 'x'.repeat(2 * 1024 * 1024));
  deepEqual([noKey.status, tooLarge.status], [401, 413]);
});
await check('a reply that is cut', async () => {
  // The server may break the connection before or after the head of the response.
  await rejects(async () => {
    const response = await call('/v1/chat/completions', { ...chat, model: 'cut' });
    await response.text();
  });
});
await check('a caller that disconnects', async () => {
  upstream.enqueue({ ...script.sse([event('one')]), ending: 'hang' });
  const caller = new AbortController();
  const { signal } = caller;
  const response = await call('/v1/chat/completions', { ...chat, stream: true }, { signal });
  await response.body.getReader().read();
  caller.abort();
  equal(await upstream.calls.at(-1).closed, 'aborted');
});
await check('closing', async () => {
  await gateway.close();
  const { used, held, inFlight } = await options.quota.read(issued.key.id, '', 'default');
  const charged = usage.records.reduce((sum, { chargeNanos }) => sum + chargeNanos, 0n);
  deepEqual({ used, held, inFlight }, { used: charged, held: 0n, inFlight: 0 });
  deepEqual(
    usage.records.map(({ outcome }) => outcome),
    ['complete', 'complete', 'complete', 'broken', 'caller_left'],
  );
});
await host.cleanup();
await upstream.close();
cutting.close();
process.exit(failures === 0 ? 0 : 1);
