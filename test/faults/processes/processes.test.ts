// suite: search host
/** Rows F74–F83 of the fault matrix: faults of a process, each in a separate process. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { gate, hang } from '../../../src/testing/providers/scripts.ts';
import type { FakeUpstream } from '../../../src/testing/providers/server.ts';
import { startStrictUpstream } from '../../providers/strict-upstream.ts';
import { rawRequest } from '../../support/raw-http.ts';
import { answering, halting, neverEnding, waiting } from '../callers/calls.ts';
import { answersIn, type RawCaller, rawCaller } from '../callers/raw-caller.ts';
import { countedRows } from '../rows/counted.ts';
import { buildChildren, type Host, outDir, startHost } from './children.ts';
import { answerQuota } from './quota.ts';

countedRows('F74–F83');
beforeAll(buildChildren, 60_000);

const chatCost = 20n;

it('F74 an event loop blocked longer than every timeout causes no false timeout', async () => {
  const upstream = await startedUpstream();
  const held = gate();
  upstream.enqueue(halting('chat_stream', held));
  const host = await startHost({
    openaiBaseUrl: upstream.openaiBaseUrl,
    options: { timeouts: { idleMs: 1_000, firstByteStreamedMs: 1_000 } },
  });
  const caller = await calling(host, { stream: true });
  await caller.until((received) => received.includes('Once'));

  const blocked = host.waitFor('blocked');
  const unblocked = host.waitFor('unblocked');
  host.order('block', 3_000);
  await blocked;
  held.open();
  await unblocked;
  await caller.until((received) => answersIn(received).length === 1);

  expect(caller.received()).toContain('[DONE]');
  expect(caller.received()).not.toContain('"error"');
});

it('F75 many large bodies in a small heap: those above the budget get 503', async () => {
  const bodies = 24;
  const upstream = await startedUpstream();
  const held = gate();
  upstream.enqueue(...Array.from({ length: bodies }, () => waiting('chat', held)));
  const host = await startHost({
    openaiBaseUrl: upstream.openaiBaseUrl,
    nodeFlags: ['--max-old-space-size=128'],
    options: { maxBufferedBytes: 32 * 1024 * 1024 },
  });

  const callers = await Promise.all(
    Array.from({ length: bodies }, () => calling(host, { padding: 'x'.repeat(4_000_000) })),
  );
  const answered = callers.map((caller) => statusFor(caller));
  // All that fit wait at the upstream; the others have their answer.
  await Promise.any(answered);
  held.open();
  const statuses = await Promise.all(answered);

  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  upstream.enqueue(answering('chat'));
  expect(await statusFor(await calling(host))).toBe(200);
});

it('F75 calls above the share of a key get 503', async () => {
  const upstream = await startedUpstream();
  const held = gate();
  upstream.enqueue(...Array.from({ length: 5 }, () => waiting('chat', held)));
  const host = await startHost({
    openaiBaseUrl: upstream.openaiBaseUrl,
    options: { maxConcurrentCalls: 10 },
  });
  // One key may take half of all concurrent calls.
  const running = await Promise.all(Array.from({ length: 5 }, () => calling(host)));
  await Promise.all(running.map(() => upstream.nextCall()));

  const beyond = await Promise.all(Array.from({ length: 20 }, () => calling(host)));
  const refused = await Promise.all(beyond.map(statusFor));
  held.open();

  expect(new Set(refused)).toEqual(new Set([503]));
  expect(new Set(await Promise.all(running.map(statusFor)))).toEqual(new Set([200]));
});

it('F77 a host that is asked to end does so, with streams still running', async () => {
  const upstream = await startedUpstream();
  upstream.enqueue(...Array.from({ length: 50 }, () => neverEnding('chat_stream', 1)));
  const host = await startHost({ openaiBaseUrl: upstream.openaiBaseUrl });
  const callers = await Promise.all(
    Array.from({ length: 50 }, () => calling(host, { stream: true })),
  );
  await Promise.all(callers.map((caller) => caller.until((text) => text.includes('Once'))));

  host.order('close');
  await Promise.all(callers.map(({ closed }) => closed));

  expect(await host.exited).toEqual({ code: 0, signal: null });
  expect(callers.filter((caller) => !caller.received().includes('"error"'))).toEqual([]);
  expect(host.errors()).toBe('');
});

it('F78 a host that is killed: its hold ends with its lease', async () => {
  const upstream = await startedUpstream();
  upstream.enqueue(hang());
  const clock = fakeClock();
  const quota = memoryQuotaStore({ clock });
  const host = await startHost({ openaiBaseUrl: upstream.openaiBaseUrl, ownsBooks: false });
  answerQuota(quota, {
    send: (message) => void host.child.send(message),
    onMessage: (listener) => {
      host.child.on('message', listener);
    },
  });
  await calling(host);
  await upstream.nextCall();

  host.child.kill('SIGKILL');
  await host.exited;
  expect(quota.read('caller', '', 'default')).toMatchObject({ inFlight: 1 });
  clock.advance(30_001);

  expect(quota.sweep({ max: 10 })).toMatchObject({ expired: 1 });
  expect(quota.read('caller', '', 'default')).toMatchObject({ held: 0n, used: 0n, inFlight: 0 });
});

it('F79 four workers of a cluster share nothing but their store', async () => {
  const calls = 40;
  const upstream = await startedUpstream();
  upstream.enqueue(...Array.from({ length: calls }, () => answering('chat')));
  const host = await startHost({ openaiBaseUrl: upstream.openaiBaseUrl, workers: 4 });

  const workers = new Set<string>();
  for (let count = 0; count < calls; count += 1) {
    const caller = await calling(host);
    await caller.until((received) => answersIn(received).length === 1);
    const [answer] = answersIn(caller.received());
    expect(answer?.status).toBe(200);
    workers.add(/^process-(\d+)-/.exec(answer?.headers['x-request-id'] ?? '')?.[1] ?? 'none');
    caller.close();
  }
  const counts = host.waitFor('counts');
  host.order('count');

  expect(workers.size).toBe(4);
  expect(await counts).toMatchObject({ held: 0n, used: BigInt(calls) * chatCost, inFlight: 0 });
});

it('F79 four threads share nothing', async () => {
  const threads = [1, 2, 3, 4].map((calls) => ({
    calls,
    thread: new Worker(join(outDir, 'thread.mjs'), { workerData: calls }),
  }));

  const reported = await Promise.all(threads.map(({ thread }) => once(thread, 'message')));

  expect(reported.map(([message]) => message)).toEqual(
    threads.map(({ calls }) => ({
      statuses: Array(calls).fill(200),
      state: { held: 0n, used: BigInt(calls) * chatCost, inFlight: 0 },
    })),
  );
});

it('F80 the library twice in one process: both work together, and leave no trace', async () => {
  const child = fork(join(outDir, 'twice.mjs'), { stdio: 'inherit' });
  const [message] = await once(child, 'message');

  expect(message).toEqual({
    statuses: [200, 401, 200, 401],
    codes: ['ConfigurationError', 'ConfigurationError'],
    before: message.after,
    after: message.before,
  });
});

it('F82 after hundreds of calls with each ending, all counters are as before', async () => {
  const rounds = 100;
  const upstream = await startedUpstream();
  const host = await startHost({
    openaiBaseUrl: upstream.openaiBaseUrl,
    nodeFlags: ['--expose-gc'],
  });
  await round(host, upstream);
  const first = await countsOf(host, 3);

  for (let count = 0; count < rounds; count += 1) await round(host, upstream);
  const last = await countsOf(host, 3 * (rounds + 1));

  expect(last.now.listeners).toBe(first.now.listeners);
  expect(othersIn(last)).toEqual(othersIn(first));
  expect(last.state).toMatchObject({ held: 0n, inFlight: 0 });
  // The memory sink keeps a record for each, about 2 KB; a leaked call would be far more.
  expect(last.now.heapBytes - first.now.heapBytes).toBeLessThan(8 * 1024 * 1024);
});

it('F83 a host without free file descriptors answers 503, survives, and recovers', async () => {
  const upstream = await startedUpstream();
  const host = await startHost({ openaiBaseUrl: upstream.openaiBaseUrl, files: 256 });
  const callers: RawCaller[] = [];
  // Each takes a file descriptor of the host, until it cannot accept another one.
  let isFull = false;
  while (!isFull && callers.length < 400) {
    const caller = await rawCaller(host.origin);
    callers.push(caller);
    onTestFinished(caller.close);
    caller.send(rawRequest('GET /v1/models', { authorization: `Bearer ${host.secret}` }));
    isFull = (await Promise.race([statusFor(caller), caller.closed])) === undefined;
  }
  const [first] = callers;
  expect(isFull).toBe(true);
  first?.send(chatBytes(host.secret));
  await first?.until((received) => answersIn(received).length === 2);
  expect(answersIn(first?.received() ?? '').at(-1)?.status).toBe(503);

  for (const caller of callers.slice(1)) caller.close();
  await Promise.all(callers.slice(1).map(({ closed }) => closed));
  upstream.enqueue(answering('chat'));
  let status: number | undefined;
  // The host notices closed connections one by one; until then it may still be full.
  while (status !== 200) status = await statusFor(await calling(host));

  expect(host.errors()).toBe('');
});

async function startedUpstream(): Promise<FakeUpstream> {
  const upstream = await startStrictUpstream();
  onTestFinished(() => upstream.close());
  return upstream;
}

function chatBytes(secret: string, members: object = {}): string {
  const messages = [{ role: 'user', content: 'hi' }];
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  return rawRequest(
    'POST /v1/chat/completions',
    headers,
    JSON.stringify({ model: 'm', messages, ...members }),
  );
}

async function calling({ origin, secret }: Host, members: object = {}): Promise<RawCaller> {
  const caller = await rawCaller(origin);
  onTestFinished(caller.close);
  caller.send(chatBytes(secret, members));
  return caller;
}

async function statusFor(caller: RawCaller): Promise<number | undefined> {
  try {
    await caller.until((received) => answersIn(received).length > 0);
  } catch {
    // It closed instead.
  }
  return answersIn(caller.received())[0]?.status;
}

/** A call that completes, one whose caller disconnects before it, and one during it. */
async function round(host: Host, upstream: FakeUpstream): Promise<void> {
  upstream.enqueue(answering('chat'), hang(), neverEnding('chat_stream', 1));
  const whole = await calling(host);
  await upstream.nextCall();
  expect(await statusFor(whole)).toBe(200);
  whole.close();
  const early = await calling(host);
  const request = await upstream.nextCall();
  early.reset();
  await request.closed;
  const midway = await calling(host, { stream: true });
  await midway.until((received) => received.includes('Once'));
  await upstream.nextCall();
  // The gateway reads on for its usage while the next round begins.
  midway.reset();
}

const countsSchema = z.object({
  now: z.object({
    resources: z.record(z.string(), z.number()),
    listeners: z.number(),
    heapBytes: z.number(),
  }),
  state: z.unknown(),
  records: z.number(),
});

type Counts = z.infer<typeof countsSchema>;

/** undici opens a new connection for each aborted one, and keeps one alive. */
const socketsAtRest = 2;

/** Asks until that many records are written and only the expected sockets are open. */
async function countsOf(host: Host, records: number): Promise<Counts> {
  for (;;) {
    const pending = host.waitFor('counts');
    host.order('count');
    const counts = countsSchema.parse(await pending);
    const { TCPSocketWrap = 0, ConnectWrap = 0 } = counts.now.resources;
    const isAtRest = TCPSocketWrap <= socketsAtRest && ConnectWrap === 0;
    if (counts.records >= records && isAtRest) return counts;
  }
}

/** Other open handles of a process. */
function othersIn({ now }: Counts): object {
  const { TCPSocketWrap: _sockets, ...others } = now.resources;
  return others;
}
