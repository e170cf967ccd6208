/**
 * An address at which connections neither succeed nor fail: a listener that never accepts and whose
 * queue is full. The kernel drops the packets of further connections.
 */
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** A running blackhole. */
export interface Blackhole {
  /** `http://127.0.0.1:49152` */
  readonly origin: string;
  close(): Promise<void>;
}

/** Linux queues one connection more than the backlog. */
const queued = 2;

/** Listens, reports its port, and then blocks its event loop forever. */
const listener = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:net').createServer();
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
`;

/** Starts one and fills its queue. */
export async function blackhole(): Promise<Blackhole> {
  const worker = new Worker(listener, { eval: true });
  const port = await new Promise<number>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
  });
  const sockets: Socket[] = [];
  while (sockets.length < queued) sockets.push(await connected(port));
  return {
    origin: `http://127.0.0.1:${port}`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await worker.terminate();
    },
  };
}

function connected(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    // The socket is reset when the listener ends.
    socket.on('error', reject).once('connect', () => resolve(socket));
  });
}
