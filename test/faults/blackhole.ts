/**
 * An address where connections neither come about nor fail: a listener that never accepts, whose
 * queue is full. The kernel then drops what would begin another connection.
 */
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** A running blackhole. */
export interface Blackhole {
  /** `http://127.0.0.1:49152` */
  readonly origin: string;
  close(): Promise<void>;
}

/** Linux queues one connection more than it was asked to. */
const queued = 2;

/** Listens, tells the port, and never does a thing again: its event loop is asleep. */
const listener = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:net').createServer();
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
`;

/** Makes one, and fills its queue. */
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
    // It is reset when the listener goes.
    socket.on('error', reject).once('connect', () => resolve(socket));
  });
}
