/** What the Redis suites share: both clients, and a server's clock that a test moves. */
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import type { RedisClient, RunScript } from '../../../src/stores/redis/client.ts';
import { type Script, scriptOf } from '../../../src/stores/redis/script.ts';
import { type FakeClock, fakeClock } from '../../../src/testing/fake-clock.ts';

/** A client that is connected, and its end. */
export interface OpenClient {
  readonly client: RedisClient;
  close(): void;
}

/** A way to connect to a unix socket. */
export type OpenAt = (path: string) => Promise<OpenClient>;

/** Every kind of client that a host may hand in. */
export const clients: readonly (readonly [name: string, open: OpenAt])[] = [
  ['node-redis', openNodeRedis],
  ['ioredis', openIoRedis],
];

/** What keys begin with, different each time: cases share a server and no key. */
export function newPrefix(): string {
  return `t:${randomUUID()}`;
}

/** A clock for the server: it stands still until a test moves it. */
export function serverClock(): FakeClock {
  return fakeClock(Date.now());
}

/**
 * Runs scripts as if the server's clock were this one. Only the call that asks for the time is
 * changed, so that what is proved is the script that is shipped.
 */
export function onClock(run: RunScript, clock: FakeClock): RunScript {
  const changed = new Map<string, Script>();
  const onOwnTime = (script: Script): Script => {
    const known = changed.get(script.text) ?? scriptOf(withTimeGiven(script.text));
    changed.set(script.text, known);
    return known;
  };
  return (call, signal) =>
    call.script.text.includes(askForTime)
      ? run(
          { ...call, script: onOwnTime(call.script), words: [...call.words, `${clock.now()}`] },
          signal,
        )
      : run(call, signal);
}

const askForTime = "redis.call('TIME')";

function withTimeGiven(text: string): string {
  const given = `
local function givenTime()
  local ms = tonumber(ARGV[#ARGV])
  return { tostring(math.floor(ms / 1000)), tostring(ms % 1000 * 1000) }
end
`;
  return given + text.replaceAll(askForTime, 'givenTime()');
}

async function openNodeRedis(path: string): Promise<OpenClient> {
  const client = createClient({ socket: { path, tls: false, reconnectStrategy: 10 } });
  // Without a listener an error of the connection would end the process.
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
