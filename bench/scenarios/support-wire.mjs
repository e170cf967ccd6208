/**
 * A proxy in front of a server's unix socket that counts round trips: how often a client sent
 * something after an answer and had to wait again.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/**
 * All commands written before an answer arrives count as one round trip. This is correct only with
 * one call at a time, because overlapping round trips count as one.
 */
export async function countingProxy(target) {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-bench-wire-'));
  // PostgreSQL's client finds a socket by its folder, so the file name must not change.
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
