// suite: services
/**
 * Rolling deploys: a process that is told to stop finishes its calls while the next one serves over
 * the same stores, and every call is charged once. In PostgreSQL the tables are migrated meanwhile.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { issueKey } from '../../../src/issue-key.ts';
import { member, parseJson } from '../../../src/json.ts';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import {
  postgresKeyStore,
  postgresQuotaStore,
  postgresUsageSink,
} from '../../../src/stores/postgres/index.ts';
import { migratePostgres } from '../../../src/stores/postgres/migrations.ts';
import { redisQuotaStore } from '../../../src/stores/redis/index.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { describeRedis } from '../../services/redis.ts';
import { childScript } from '../../support/child-script.ts';
import { closed, listening } from '../../support/servers.ts';
import { addLater } from '../postgres/schema.ts';

const { secret, key } = issueKey({
  id: 'staff-key',
  group: 'staff',
  limitNanos: 1_000_000_000n,
  period: 'total',
});
/** A call has 3 tokens in and 2 out, at 1,000 nanos each. */
const chargeNanos = 5_000n;

let script: string;

beforeAll(async () => {
  script = await childScript(
    join(import.meta.dirname, 'process.ts'),
    ...['pg', 'redis', 'undici', 'zod'],
  );
});

describe.skipIf(!hasPostgres())('over PostgreSQL', () => {
  let server: PostgresServer;

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it('a stream of the old process ends while the new one migrates and serves', async () => {
    const [schema, pool] = ['rolled', server.pool()];
    await migratePostgres(pool, { schema });
    await postgresKeyStore({ client: pool, schema }).add(secret, key);
    const quota = postgresQuotaStore({ client: pool, schema });
    const start = { stores: 'postgres', at: server.host, prefix: schema, drainMs: 60_000 };

    await roll(start, quota, () => addLater(pool, schema));

    const usage = postgresUsageSink({ client: pool, schema });
    const { records } = await usage.usageRecords({});
    expect(records.map(({ outcome, booked, status }) => [outcome, booked, status])).toEqual([
      ['complete', true, 200],
      ['complete', true, 200],
    ]);
    await usage.close();
  });
});

describeRedis('over Redis', (server) => {
  it('a stream of the old process ends while the new one serves', async () => {
    const { quota, logPath, start } = await overRedis(server().path);

    await roll({ ...start, drainMs: 60_000 }, quota, async () => {});

    expect(await outcomesIn(logPath)).toEqual(['complete', 'complete']);
  });

  it('a stream that outlasts the drain is cut with an error, and is charged once', async () => {
    const { quota, logPath, start } = await overRedis(server().path);
    const upstream = await startUpstream();
    const old = await startProcess({ ...start, baseUrl: upstream.baseUrl, drainMs: 1 });
    const stream = call(old.origin, true);
    await upstream.nextStream();
    const reply = await stream;
    const rest = reply.text();

    expect(await old.stop()).toBe(0);

    expect(await rest).toMatch(/"content":"Hello".*"error"/s);
    expect(await outcomesIn(logPath)).toEqual(['cut']);
    const state = await quota.read('staff-key', '', 'default');
    expect(state).toMatchObject({ held: 0n, inFlight: 0 });
    expect(state?.used).toBeGreaterThan(0n);
  });
});

/** Lets an old process stop while it streams, and a new one take over. */
async function roll(
  start: object,
  quota: Pick<QuotaStore, 'read'>,
  upgrade: () => Promise<void>,
): Promise<void> {
  const upstream = await startUpstream();
  const shared = { ...newShared(), ...start, baseUrl: upstream.baseUrl };
  const old = await startProcess(shared);
  const stream = call(old.origin, true);
  const held = await upstream.nextStream();
  const reply = await stream;
  const text = reply.text();
  await upgrade();
  const next = await startProcess(shared);
  const stopped = old.stop();
  while (await isReady(old.origin));

  const served = await call(next.origin, false);
  expect([served.status, await isReady(next.origin)]).toEqual([200, true]);
  // The call that was served gives back its place a moment after its reply.
  while ((await quota.read('staff-key', '', 'default'))?.inFlight !== 1);
  held.finish();

  expect(await text).toMatch(/"content":"Hello".*\[DONE\]/s);
  expect(await stopped).toBe(0);
  expect(await next.stop()).toBe(0);
  expect(await quota.read('staff-key', '', 'default')).toMatchObject({
    used: 2n * chargeNanos,
    held: 0n,
    inFlight: 0,
  });
}

/** Settings that a test may leave out. */
function newShared(): object {
  return { secret, logPath: 'none' };
}

async function overRedis(path: string) {
  const client = createClient({ socket: { path, tls: false } });
  await client.connect();
  onTestFinished(() => client.close());
  const prefix = `rolling:${crypto.randomUUID()}`;
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-rolling-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const logPath = join(folder, 'usage.jsonl');
  return {
    quota: redisQuotaStore({ client, prefix }),
    logPath,
    start: { stores: 'redis', at: path, prefix, logPath, secret },
  };
}

async function outcomesIn(path: string): Promise<readonly unknown[]> {
  const lines = (await readFile(path, 'utf8')).trim().split('\n');
  return lines.map((line) => member(parseJson(line) ?? null, 'outcome'));
}

/** One of the processes. */
interface Running {
  readonly origin: string;
  /** Tells it to stop, and resolves to its exit code. */
  stop(): Promise<unknown>;
}

async function startProcess(config: object): Promise<Running> {
  const child: ChildProcess = spawn(process.execPath, [script, JSON.stringify(config)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const [message] = await once(child, 'message');
  const { origin } = z.object({ origin: z.string() }).parse(message);
  return {
    origin,
    stop: async () => {
      child.send('stop');
      const [code] = await exited;
      return code;
    },
  };
}

function call(origin: string, stream: boolean): Promise<Response> {
  return fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-4o-mini',
      stream,
      messages: [{ role: 'user', content: 'hi' }],
    }),
  });
}

/** False once it says so, or no longer accepts connections. */
async function isReady(origin: string): Promise<boolean> {
  try {
    const response = await fetch(`${origin}/readyz`, { headers: { connection: 'close' } });
    return response.status === 200;
  } catch {
    return false;
  }
}

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

/** An upstream whose streams say one word, and end when the test says so. */
async function startUpstream() {
  const streams: { readonly finish: () => void }[] = [];
  const waiters: ((stream: { readonly finish: () => void }) => void)[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    if (member(parseJson(body) ?? null, 'stream') !== true) return answerWhole(response);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame({ choices: [{ index: 0, delta: { content: 'Hello' } }] }));
    const stream = { finish: () => finish(response) };
    const waiter = waiters.shift();
    if (waiter === undefined) streams.push(stream);
    else waiter(stream);
  });
  const origin = await listening(server);
  onTestFinished(() => closed(server));
  return {
    baseUrl: `${origin}/v1`,
    nextStream: async (): Promise<{ readonly finish: () => void }> =>
      streams.shift() ?? (await new Promise((resolve) => waiters.push(resolve))),
  };
}

function answerWhole(response: ServerResponse): void {
  const message = { role: 'assistant', content: 'Hello' };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ ...head, choices: [{ index: 0, message }], usage }));
}

function finish(response: ServerResponse): void {
  response.write(frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
  response.write(frame({ choices: [], usage }));
  response.end('data: [DONE]\n\n');
}

const head = { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'gpt-4o-mini' };

function frame(members: object): string {
  return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...members })}\n\n`;
}
