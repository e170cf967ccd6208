/** A gateway with the models of the sample calls, and an upstream in the same process. */
import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { sampleModels } from './sample-calls.mjs';

const quota = [{ id: 'k', period: 'month', limitNanos: 1_000_000_000_000_000n }];

/**
 * The gateway of the given build; `options(package)` returns further options.
 *
 * @returns `{ run(call, headers?), close() }`; a run ends after its settlement
 */
export async function inProcessGateway(dist, options = () => ({})) {
  const tollgate = await import(new URL('index.js', dist).href);
  let reply;
  const gateway = tollgate.createGateway({
    keys: tollgate.memoryKeyStore({
      pepper: 'bench',
      allowWeakKeys: true,
      keys: [{ secret: 'secret', key: { id: 'k', group: 'g', disabled: false, quota } }],
    }),
    quota: tollgate.memoryQuotaStore(),
    catalog: tollgate.staticCatalog(sampleModels('https://upstream.example')),
    upstream: { send: (request) => Promise.resolve(answer(request, reply)), close: async () => {} },
    ...options(tollgate),
  });
  const run = (call, headers) => {
    reply = call.reply;
    return runCall(gateway, call, headers);
  };
  return { run, close: () => gateway.close() };
}

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

async function runCall(gateway, { name, path, body, status = 200 }, others) {
  const [pathname, query = ''] = path.split('?');
  const bytes = Buffer.from(body);
  const headers = {
    authorization: 'Bearer secret',
    'x-goog-api-key': 'secret',
    'content-type': 'application/json',
    'content-length': String(bytes.length),
    ...others,
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
  if (response.status !== status) {
    throw new Error(`${name}: ${response.status} ${response.body}`);
  }
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
