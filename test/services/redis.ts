/**
 * A private Redis for a suite: append-only file on, in a folder of its own, on a unix socket. It
 * can be killed, and started again on the same data.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, it } from 'vitest';

/** A running server, or one that can be started again. */
export interface RedisServer {
  /** The path of its socket. */
  readonly path: string;
  /** Starts it on its data; resolves when it replies. */
  start(): Promise<void>;
  /** Kills it with SIGKILL, as in a crash. */
  kill(): Promise<void>;
  /** Suspends it with SIGSTOP: it accepts connections and never replies. */
  freeze(): void;
  thaw(): void;
  /** Stops it and deletes its data. */
  remove(): Promise<void>;
}

const program = 'redis-server';
const startWithinMs = 10_000;

/**
 * A suite over a private Redis. Without redis-server on the machine it is skipped, and one line is
 * printed; with `REQUIRE_SERVICES=1` it fails.
 */
export function describeRedis(name: string, suite: (server: () => RedisServer) => void): void {
  if (spawnSync(program, ['--version']).error === undefined) {
    describe(name, () => suite(serverOfSuite()));
    return;
  }
  if (process.env.REQUIRE_SERVICES === '1') {
    describe(name, () => {
      it('finds redis-server on this machine', () => {
        throw new Error('REQUIRE_SERVICES=1, and redis-server is not installed');
      });
    });
    return;
  }
  process.stderr.write(`SKIPPED: ${name}: redis-server is not installed\n`);
  describe.skip(name, () => suite(notStarted));
}

/**
 * Starts a Redis; further configuration is passed as arguments, such as `--cluster-enabled yes`.
 */
export async function startRedis(more: readonly string[] = []): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-redis-'));
  const path = join(folder, 'redis.sock');
  let child: ChildProcess | undefined;

  const server: RedisServer = {
    path,
    start: async () => {
      child = await launch(folder, path, more);
    },
    kill: async () => {
      if (child !== undefined) await end(child);
      child = undefined;
    },
    freeze: () => child?.kill('SIGSTOP'),
    thaw: () => child?.kill('SIGCONT'),
    remove: async () => {
      await server.kill();
      await rm(folder, { recursive: true });
    },
  };
  try {
    await server.start();
  } catch (error) {
    await rm(folder, { recursive: true });
    throw error;
  }
  return server;
}

function serverOfSuite(): () => RedisServer {
  let server: RedisServer | undefined;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server?.remove());
  return () => server ?? notStarted();
}

function notStarted(): never {
  throw new Error('the server is there in the tests of its suite only');
}

async function launch(
  folder: string,
  path: string,
  more: readonly string[],
): Promise<ChildProcess> {
  const options = ['--dir', folder, '--unixsocket', path, '--appendonly', 'yes', '--save', ''];
  // Fast: writes survive a crash of the process. fsync would matter only for a crash of the
  // machine.
  const child = spawn(program, [...options, '--appendfsync', 'no', '--port', '0', ...more], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const dieWithUs = (): boolean => child.kill('SIGKILL');
  process.once('exit', dieWithUs);
  child.once('exit', () => process.off('exit', dieWithUs));
  await untilReady(child);
  await ping(path);
  return child;
}

/** Resolves when the server logs that it is ready; its data has been loaded by then. */
function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const texts: string[] = [];
    const fail = (): void => {
      child.kill('SIGKILL');
      reject(new Error(`redis-server did not start:\n${texts.join('\n')}`));
    };
    const timer = setTimeout(fail, startWithinMs);
    child.once('error', reject);
    child.once('exit', fail);
    if (child.stdout === null) return fail();
    createInterface({ input: child.stdout }).on('line', (line) => {
      texts.push(line);
      if (!/ready to accept connections/i.test(line)) return;
      clearTimeout(timer);
      child.off('exit', fail);
      resolve();
    });
  });
}

async function ping(path: string): Promise<void> {
  const socket = connect(path);
  socket.end('PING\r\n');
  let reply = '';
  for await (const chunk of socket) reply += String(chunk);
  if (!reply.startsWith('+PONG')) throw new Error(`redis-server answered a ping with ${reply}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
