/** Starts and stops the servers of tests, on ports that the operating system chooses. */
import type { AddressInfo, Server as NetServer } from 'node:net';

/** A server that may keep connections open, like that of `node:http`. */
interface HttpServer extends NetServer {
  closeAllConnections(): void;
}

/** Listens on 127.0.0.1; resolves to its origin, `http://127.0.0.1:49152`. */
export function listening(server: NetServer): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(originOf(server.address())));
  });
}

/** Closes open connections too, because a stream would keep the server open forever. */
export function closed(server: HttpServer): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error === undefined ? resolve() : reject(error)));
    server.closeAllConnections();
  });
}

function originOf(address: AddressInfo | string | null): string {
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return `http://127.0.0.1:${address.port}`;
}
