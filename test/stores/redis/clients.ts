/** Helpers of the Redis suites: both clients, and a server clock that a test controls. */
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import {
  type RedisClient,
  type RunScript,
  type Script,
  scriptOf,
} from '../../../src/stores/redis/client.ts';
import { type FakeClock, fakeClock } from '../../../src/testing/fake-clock.ts';

/** A connected client, and a function that closes it. */
export interface OpenClient {
  readonly client: RedisClient;
  close(): void;
}

/** Connects to a Unix socket. */
export type OpenAt = (path: string) => Promise<OpenClient>;

/** Every kind of client that a host may pass in. */
export const clients: readonly (readonly [name: string, open: OpenAt])[] = [
  ['node-redis', openNodeRedis],
  ['ioredis', openIoRedis],
];

/** A new prefix each time, since the cases share a server but no keys. */
export function newPrefix(): string {
  return `t:${randomUUID()}`;
}

/** A clock for the server, which only a test advances. */
export function serverClock(): FakeClock {
  return fakeClock(Date.now());
}

/**
 * Runs scripts as if this were the server's clock. Only the call for the time is replaced, so that
 * the tests cover the scripts as they are shipped.
 */
export function onClock(run: RunScript, clock: FakeClock): RunScript {
  const rewritten = new Map<string, Script>();
  const onFakeTime = (script: Script): Script => {
    const known = rewritten.get(script.text) ?? scriptOf(withFakeTime(script.text));
    rewritten.set(script.text, known);
    return known;
  };
  return (call, signal) =>
    call.script.text.includes(timeCommand)
      ? run(
          { ...call, script: onFakeTime(call.script), args: [...call.args, `${clock.now()}`] },
          signal,
        )
      : run(call, signal);
}

const timeCommand = "redis.call('TIME')";

function withFakeTime(text: string): string {
  const given = `
local function givenTime()
  local ms = tonumber(ARGV[#ARGV])
  return { tostring(math.floor(ms / 1000)), tostring(ms % 1000 * 1000) }
end
`;
  return given + text.replaceAll(timeCommand, 'givenTime()');
}

async function openNodeRedis(path: string): Promise<OpenClient> {
  const client = createClient({ socket: { path, tls: false, reconnectStrategy: 10 } });
  // Without a listener, a connection error would end the process.
  client.on('error', () => {});
  await client.connect();
  return { client, close: () => client.destroy() };
}

async function openIoRedis(path: string): Promise<OpenClient> {
  const client = new Redis({ path, lazyConnect: true, retryStrategy: () => 10 });
  client.on('error', () => {});
  await client.connect();
  return { client, close: () => client.disconnect() };
}
