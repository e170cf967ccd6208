// suite: slow host
/**
 * The outage of a database is reported with the code of its error in the log, the console and the
 * metrics, and never with its password. The servers speak as much of their protocol as a client
 * needs to connect.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { liveFigures } from '../../../src/admin/now/live.ts';
import { type Situation, sentenceOf } from '../../../src/admin/now/sentence.ts';
import { configForm } from '../../../src/command/config/config.ts';
import { jsonLog } from '../../../src/command/log.ts';
import { countLosses } from '../../../src/command/serve/losses.ts';
import { openDatabases } from '../../../src/command/stores/databases.ts';
import { makeStores } from '../../../src/command/stores/stores.ts';
import type { GatewayEvent } from '../../../src/events/events.ts';
import { countEvents } from '../../../src/prometheus/record-events.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { sampleRequests } from '../../support/models.ts';

const password = 'canary-of-the-operator';

function redisReplies(socket: Socket): void {
  socket.on('data', (sent) => {
    const commands = String(sent).match(/^\*\d+\r$/gm) ?? [];
    socket.write('+OK\r\n'.repeat(commands.length));
  });
}

function postgresReplies(socket: Socket): void {
  const authenticationOk = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]);
  const emptyQuery = Buffer.from([0x49, 0, 0, 0, 4]);
  const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
  socket.once('data', () => {
    socket.write(Buffer.concat([authenticationOk, readyForQuery]));
    socket.on('data', () => socket.write(Buffer.concat([emptyQuery, readyForQuery])));
  });
}

async function serverWith(answer: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    socket.on('error', () => {});
    sockets.add(socket);
    answer(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const stop = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  return { port: typeof address === 'object' ? address?.port : undefined, stop };
}

it.each([
  ['redis', 'redis', redisReplies],
  ['redis', 'ioredis', redisReplies],
  ['postgres', 'pg', postgresReplies],
] as const)('%s over %s', async (database, driver, answer) => {
  const { port, stop } = await serverWith(answer);
  const url = `${database}://:${password}@127.0.0.1:${port}/0`;
  const chosen = database === 'redis' ? { url, client: driver } : { url };
  const config = configForm.parse({
    catalog: { models: [] },
    stores: { [database]: chosen, quota: database },
  });
  const databases = await openDatabases(config.stores ?? {}, process.cwd());
  onTestFinished(() => databases.close());
  const lines: string[] = [];
  const losses = countLosses(jsonLog((line) => lines.push(line), fakeClock()));
  const { quota } = makeStores(config, databases, fakeClock());

  await stop();
  if (databases.redis) await vi.waitUntil(() => databases.redis?.lostBy() !== undefined);
  const gateway = gatewayInProcess({
    store: () => quota,
    leavesHolds: 'the store is down',
    options: { storeTimeoutMs: 300 },
  });
  const reply = await gateway.call(sampleRequests.chat);
  const failedTo = (name: string) => (event: GatewayEvent) =>
    event.type === 'port_failed' && event.operation === name;
  // ioredis can't take back a command, so the gateway tries to release the hold.
  if (driver === 'ioredis') await vi.waitUntil(() => gateway.events.some(failedTo('release')));

  expect(reply.status).toBe(503);
  const counts = countEvents(100);
  const live = liveFigures(fakeClock());
  for (const event of gateway.events) {
    losses.onEvent(event);
    counts.onEvent(event);
    if (event.type === 'port_failed') live.add(event);
  }
  const line = lines
    .map((each) => JSON.parse(each))
    .find(({ operation }) => operation === 'reserve');
  expect(line).toMatchObject({ event: 'port_failed', operation: 'reserve', code: 'ECONNREFUSED' });
  expect(line.error.message).toMatch(/^(?:Redis|PostgreSQL) /);
  const situation: Situation = {
    ...{ state: live.state, nowMs: fakeClock().now(), models: [], slowPorts: [], nearlySpent: [] },
    ...{ status: gateway.gateway.status(), isLogDown: false },
  };
  const [worst] = sentenceOf(situation);
  expect(worst?.text).toBe('The quota store can’t be used.');
  expect(worst?.detail).toMatch(/(?:Redis|PostgreSQL) .*ECONNREFUSED/);
  const labels = [...counts.counted.port_failures_total.entries()].map(({ values }) => values);
  expect(labels).toContainEqual(['quota', 'reserve', 'ECONNREFUSED']);
  expect(JSON.stringify([lines, sentenceOf(situation), labels])).not.toContain(password);
});
