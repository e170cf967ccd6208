/**
 * Counts the function calls of one request: `npx tsup && node bench/hops.mjs`. The
 * cost of cold code depends on the number of functions, not of lines, so this figure shows what a
 * benchmark under full load does not. It counts the calls in `dist/`, by V8's precise coverage,
 * during a second request that equals the first; `--by-function` lists the functions, the most
 * called first.
 */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { Session } from 'node:inspector/promises';
import { createGateway, memoryKeyStore, memoryQuotaStore, staticCatalog } from '../dist/index.js';
import { nodeAdapter } from '../dist/node.js';

const reply = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};
const events = [
  { ...reply, object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'Hi.' } }] },
  { ...reply, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: undefined },
  { ...reply, choices: [] },
];
const nativeReply = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hi.' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
};
const chat = { messages: [{ role: 'user', content: 'Hello.' }] };
const rows = {
  'chat, relayed': ['/v1/chat/completions', { model: 'm', ...chat }],
  'chat, relayed and streamed': ['/v1/chat/completions', { model: 'm', ...chat, stream: true }],
  'chat over Gemini': ['/v1/chat/completions', { model: 'g', ...chat }],
  'native, relayed': [
    '/v1beta/models/g:generateContent',
    { contents: [{ parts: [{ text: 'Hi.' }] }] },
  ],
  'unknown model': ['/v1/chat/completions', { model: 'x', ...chat }],
};

const upstream = await listening(
  createServer(async (incoming, outgoing) => {
    let body = '';
    for await (const piece of incoming) body += piece;
    const isStream = body.includes('"stream":true');
    const document = incoming.url.includes('generateContent') ? nativeReply : reply;
    const text = isStream
      ? `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`
      : JSON.stringify(document);
    const type = isStream ? 'text/event-stream' : 'application/json';
    outgoing.writeHead(200, { 'content-type': type, 'content-length': text.length }).end(text);
  }),
);
const gateway = createGateway({
  keys: memoryKeyStore({
    pepper: 'bench',
    allowWeakKeys: true,
    keys: [{ secret: 'secret', key: keyOf('k') }],
  }),
  quota: memoryQuotaStore(),
  catalog: staticCatalog([modelOf('m', 'openai'), modelOf('g', 'gemini')]),
});
const host = await listening(createServer(nodeAdapter(gateway)));

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
for (const [name, [path, body]] of Object.entries(rows)) {
  await send(path, body);
  await session.post('Profiler.takePreciseCoverage');
  await send(path, body);
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const called = functionsIn(result);
  const calls = called.reduce((sum, { count }) => sum + count, 0);
  console.log(`${name}: ${calls} calls of ${called.length} functions`);
  if (!process.argv.includes('--by-function')) continue;
  for (const { name: which, count } of called.slice(0, 400)) console.log(`  ${count} ${which}`);
}
session.disconnect();
host.server.close();
upstream.server.close();
await gateway.close();

/** The functions of `dist/` that were called, the most called first. */
function functionsIn(scripts) {
  return scripts
    .filter(({ url }) => url.includes('/dist/'))
    .flatMap(({ functions }) => functions)
    .map(({ functionName, ranges }) => ({
      name: functionName || '(anonymous)',
      count: ranges[0].count,
    }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count);
}

async function send(path, body) {
  const text = JSON.stringify(body);
  const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' };
  headers['x-goog-api-key'] = 'secret';
  headers['content-length'] = text.length;
  const outgoing = request({ host: '127.0.0.1', port: host.port, path, method: 'POST', headers });
  outgoing.end(text);
  const [incoming] = await once(outgoing, 'response');
  for await (const piece of incoming) void piece;
  await new Promise((resolve) => setTimeout(resolve, 50));
}

async function listening(server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: server.address().port };
}

function keyOf(id) {
  const quota = [{ id, period: 'month', limitNanos: 1_000_000_000n }];
  return { id, group: 'g', disabled: false, quota };
}

function modelOf(id, dialect) {
  return {
    id,
    vendor: 'Acme',
    protocols: ['chat', 'native'],
    groups: ['g'],
    price: { per: 'token', rates: { input: 1n, output: 1n } },
    maxOutputTokens: 100,
    channels: [
      {
        id: dialect,
        dialect,
        baseUrl: `http://127.0.0.1:${upstream.port}/v1`,
        credential: 'upstream-secret',
        priority: 0,
        weight: 1,
      },
    ],
  };
}
