// suite: slow host
/** A PostgreSQL server that stops answering does not keep a process from ending. */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { configForm } from '../../src/command/config/config.ts';
import { openDatabases } from '../../src/command/stores/databases.ts';

const authenticationOk = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]);
const emptyQuery = Buffer.from([0x49, 0, 0, 0, 4]);
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

let server: Server | undefined;
afterEach(() => server?.close());

/** Accepts any client and answers only its first query. */
function answerOnce(socket: Socket): void {
  socket.on('error', () => {});
  socket.once('data', () => {
    socket.write(Buffer.concat([authenticationOk, readyForQuery]));
    socket.once('data', () => socket.write(Buffer.concat([emptyQuery, readyForQuery])));
  });
}

it('a query that is never answered does not keep the databases open', async () => {
  const closed: Promise<unknown>[] = [];
  server = createServer((socket) => {
    closed.push(once(socket, 'close'));
    answerOnce(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const databases = await openDatabases(
    configForm.parse({
      catalog: { store: 'postgres' },
      stores: { postgres: { url: `postgres://u:p@127.0.0.1:${port}/d` } },
    }).stores ?? {},
    process.cwd(),
  );
  const { postgres } = databases;
  const unanswered = postgres?.client.query('SELECT 2').catch(() => 'broken off');

  await databases.close();

  expect(await unanswered).toBe('broken off');
  expect(closed.length).toBeGreaterThan(0);
  await Promise.all(closed);
});
