/**
 * A proxy before a server's unix socket that counts round trips: how often a client, having been
 * answered, had to say something again and wait.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/**
 * What is written before an answer comes is one round trip, however many commands it holds. Right
 * only where calls are made one at a time: what overlaps is counted as one.
 */
export async function countingProxy(target) {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-wire-'));
  // PostgreSQL's client finds a socket by its folder, so the name has to stay.
  const path = join(folder, basename(target));
  const sockets = new Set();
  let roundTrips = 0;

  const server = createServer((client) => {
    const upstream = connect(target);
    let answered = true;
    client.on('data', (chunk) => {
      if (answered) roundTrips += 1;
      answered = false;
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      answered = true;
      client.write(chunk);
    });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  server.listen(path);
  await once(server, 'listening');

  return {
    path,
    folder,
    roundTrips: () => roundTrips,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
