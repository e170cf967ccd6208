/**
 * Runs a NestJS app of `examples/nest` in a child process, calls it, and ends it with SIGTERM while
 * a reply streams. `node nest-app.mjs express`
 */

import { deepEqual, equal, match } from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import * as tollgate from 'tollgate';
import { gate, script, startFakeUpstream } from 'tollgate/testing';

const [platform, openaiBaseUrl] = process.argv.slice(2);
await (openaiBaseUrl === undefined ? callApp() : runApp());

/** The child: the app, with a gateway that its module creates. */
async function runApp() {
  const { createApp } = await import(`./built/${platform}-app.js`);
  const key = tollgate.issueKey({ group: 'staff', limitNanos: 1_000_000_000n, period: 'month' });
  let isClosed = false;
  /** The module of the gateway's stores, which must be there until the gateway is closed. */
  class StoreModule {
    onModuleDestroy() {
      if (!isClosed) process.exit(1);
    }
  }
  const useFactory = async () =>
    tollgate.createGateway({
      keys: tollgate.memoryKeyStore({ keys: [key] }),
      quota: tollgate.memoryQuotaStore(),
      usage: {
        record: async () => {},
        close: async () => {
          isClosed = true;
        },
      },
      catalog: tollgate.staticCatalog([
        {
          id: 'model',
          groups: ['staff'],
          protocols: ['chat', 'native'],
          price: tollgate.tokenPrice({ input: '0.15', output: '0.60' }),
          maxOutputTokens: 1_000,
          channels: [
            { id: 'channel', dialect: 'openai', baseUrl: openaiBaseUrl, credential: 'secret' },
          ],
        },
      ]),
    });
  const app = await createApp({ imports: [StoreModule], useFactory });
  await app.listen(0, '127.0.0.1');
  process.send({ url: await app.getUrl(), secret: key.secret });
}

async function callApp() {
  const upstream = await startFakeUpstream();
  // Without Nest's log, which goes to stdout.
  const stdio = ['ignore', 'ignore', 'inherit', 'ipc'];
  const child = fork(process.argv[1], [platform, upstream.openaiBaseUrl], { stdio });
  const ended = once(child, 'exit');
  // A failed assertion ends this process, and must not leave the app behind.
  process.once('exit', () => child.kill('SIGKILL'));
  const [{ url, secret }] = await once(child, 'message');
  const post = (path, body) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const chat = { model: 'model', messages: [{ role: 'user', content: 'Hello.' }] };

  // The app's own routes, with the global prefix and parsed bodies.
  deepEqual(await (await fetch(`${url}/api/health`)).json(), { ok: true });
  deepEqual(await (await post('/api/notes', { a: 1 })).json(), { body: { a: 1 } });
  equal((await post('/api/notes', '{"a"')).status, 400);
  deepEqual(await (await fetch(`${url}/api/nowhere`)).json(), {
    message: 'Cannot GET /api/nowhere',
    error: 'Not Found',
    statusCode: 404,
  });

  // The gateway's: exact bytes, bodies above Nest's limit, and errors in the format of the API.
  const exact = '{ "model":"model", "top_p": 1.0, "messages":[{"role":"user","content":"a\\/b"}]}';
  equal((await post('/api/v1/chat/completions', exact)).status, 200);
  match(upstream.calls.at(-1).body.toString(), /"top_p": 1\.0, .*a\\\/b/);
  const large = { ...chat, messages: [{ role: 'user', content: 'x'.repeat(2_000_000) }] };
  equal((await post('/api/v1/chat/completions', { ...large, max_tokens: 1 })).status, 200);
  const invalid = await (await post('/api/v1/chat/completions', '{"model"')).json();
  equal(invalid.error.type, 'invalid_request_error');
  const native = await fetch(`${url}/api/v1beta/models/model:generateContent`, {
    method: 'POST',
    headers: { 'x-goog-api-key': secret, 'content-type': 'application/json' },
    body: JSON.stringify({ contents: [{ parts: [{ text: 'Hello.' }] }] }),
  });
  equal((await native.json()).candidates[0].finishReason, 'STOP');

  // A stream that is running when the app gets SIGTERM.
  const rest = gate();
  const delta = (content) => ({ choices: [{ index: 0, delta: { content } }] });
  upstream.enqueue(script.sse([delta('one'), rest.opened, delta('two'), '[DONE]']));
  const stream = await post('/api/v1/chat/completions', { ...chat, stream: true });
  const reader = stream.body.getReader();
  await reader.read();
  child.kill('SIGTERM');
  const draining = await untilDraining(() => post('/api/v1/chat/completions', chat));
  equal(draining.error.code, 'draining');
  rest.open();
  let text = '';
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    text += Buffer.from(next.value).toString();
  }
  match(text, /two.*\[DONE\]/s);
  deepEqual(await ended, [null, 'SIGTERM']);
  await upstream.close();
}

/** Calls until the signal has arrived, which only the answers show. */
async function untilDraining(call) {
  for (;;) {
    const response = await call();
    const reply = await response.json();
    if (response.status === 503) return reply;
  }
}
