/**
 * What one call costs in counts, which unlike times are nearly the same on every machine: calls of
 * functions in `dist/`, promises, and bytes allocated. Everything runs in this process, without
 * sockets, so that only the gateway is counted.
 */
import { createHook } from 'node:async_hooks';
import { Session } from 'node:inspector/promises';
import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { sampleCalls, sampleModels } from './sample-calls.mjs';

/** Calls before anything is counted, so that what is made once is made. */
const warmUpCalls = 500;
const measuredCalls = 500;

/**
 * Measures each sample call with the given build.
 *
 * @returns rows of `{ name, functionCalls, functions, promises, bytes, called }`
 */
export async function callCosts({ dist, only }) {
  const { createGateway, memoryKeyStore, memoryQuotaStore, staticCatalog } = await import(
    new URL('index.js', dist).href
  );
  let reply;
  const gateway = createGateway({
    keys: memoryKeyStore({
      pepper: 'bench',
      allowWeakKeys: true,
      keys: [{ secret: 'secret', key: { id: 'k', group: 'g', disabled: false, quota } }],
    }),
    quota: memoryQuotaStore(),
    catalog: staticCatalog(sampleModels('https://upstream.example')),
    upstream: { send: (request) => Promise.resolve(answer(request, reply)), close: async () => {} },
  });
  const rows = [];
  for (const call of sampleCalls.filter(({ name }) => only?.includes(name) ?? true)) {
    reply = call.reply;
    const run = () => runCall(gateway, call);
    for (let at = 0; at < warmUpCalls; at += 1) await run();
    rows.push({
      name: call.name,
      bytes: await bytesOf(run),
      promises: await promisesOf(run),
      ...(await functionCallsOf(run)),
    });
  }
  await gateway.close();
  return rows;
}

const quota = [{ id: 'k', period: 'month', limitNanos: 1_000_000_000_000n }];

/** The upstream's response, all of which has arrived. */
function answer({ onAbort }, { type, bytes }) {
  onAbort(() => {});
  const body = {
    takeWhole: (limit) => (bytes.length <= limit ? bytes : undefined),
    start: (sink) => {
      sink.write(bytes);
      sink.end();
    },
    pause: () => {},
    resume: () => {},
    abort: () => {},
  };
  return { status: 200, headers: { 'content-type': type }, body };
}

async function runCall(gateway, { name, path, body }) {
  const [pathname, query = ''] = path.split('?');
  const bytes = Buffer.from(body);
  const headers = {
    authorization: 'Bearer secret',
    'x-goog-api-key': 'secret',
    'content-type': 'application/json',
    'content-length': String(bytes.length),
  };
  const response = await gateway.handle({
    method: 'POST',
    path: pathname,
    search: query,
    headers,
    rawHeaders: Object.entries(headers).flat(),
    body: bytes,
    onClose: () => {},
  });
  if (response.status !== 200) throw new Error(`${name}: ${response.status} ${response.body}`);
  if (!(response.body instanceof Uint8Array)) await sent(response.body);
  // The settlement runs after the reply.
  await setImmediate();
}

function sent(body) {
  return new Promise((resolve, reject) => {
    const sink = new Writable({ write: (_chunk, _encoding, done) => done() });
    sink.once('close', resolve).once('error', reject);
    body.sendTo(sink);
  });
}

/** Needs `--expose-gc`, and a young generation that the calls do not fill. */
async function bytesOf(run) {
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < measuredCalls; at += 1) await run();
  return Math.round((process.memoryUsage().heapUsed - before) / measuredCalls);
}

async function promisesOf(run) {
  let promises = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'PROMISE') promises += 1;
    },
  });
  hook.enable();
  for (let at = 0; at < 100; at += 1) await run();
  hook.disable();
  return Math.round(promises / 100);
}

async function functionCallsOf(run) {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  await run();
  await session.post('Profiler.takePreciseCoverage');
  await run();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  const called = result
    .filter(({ url }) => url.includes('/dist/'))
    .flatMap(({ functions }) => functions)
    .map(({ functionName, ranges }) => [functionName || '(anonymous)', ranges[0].count])
    .filter(([, count]) => count > 0)
    .sort(([, one], [, other]) => other - one);
  const functionCalls = called.reduce((sum, [, count]) => sum + count, 0);
  return { functionCalls, functions: called.length, called };
}
