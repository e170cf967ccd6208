/**
 * A proxy between a client and a server on Unix sockets that injects faults: it cuts the connection
 * at an exact byte, loses or delays a reply, or sends other bytes instead.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A fault that occurs once. Bytes are counted over all connections since the fault was set. */
export type Fault =
  /** Ends the connection when this many bytes have passed to the server, or back from it. */
  | { readonly kind: 'cut'; readonly side: 'request' | 'reply'; readonly afterBytes: number }
  /** The server runs the request, but its reply is lost together with the connection. */
  | { readonly kind: 'lose' }
  /** Delays replies until the promise is fulfilled. */
  | { readonly kind: 'hold'; readonly until: Promise<void> }
  /** Sends these bytes in place of the reply, then ends the connection. */
  | { readonly kind: 'garble'; readonly bytes: Uint8Array };

/** The bytes that have passed since the fault was set. */
export interface Passed {
  readonly request: number;
  readonly reply: number;
}

/** A running proxy. */
export interface CutProxy {
  /** Sets a fault, or none, and resets the counts. */
  set(fault?: Fault): void;
  passed(): Passed;
  /** Resolves when the server has closed every broken connection. */
  quiet(): Promise<void>;
  /** Closes every connection and stops listening. */
  close(): Promise<void>;
}

/** A fault and its progress. */
interface Plan {
  readonly fault: Fault | undefined;
  isSpent: boolean;
  request: number;
  reply: number;
}

/** Listens at one path and forwards to the server at the other. */
export async function startCutProxy(paths: {
  readonly at: string;
  readonly to: string;
}): Promise<CutProxy> {
  let plan: Plan = planOf(undefined);
  const sockets = new Set<Socket>();
  const broken = new Set<Promise<unknown>>();

  const server = createServer((near) => {
    const far = connect(paths.to);
    const line: Line = {
      near,
      far,
      // Half-closed, so that the server reads everything that passed before it sees the end.
      breakOff: (lastRequest, lastReply) => {
        broken.add(closing(far));
        far.end(lastRequest);
        near.end(lastReply, () => near.destroy());
      },
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.once('close', () => sockets.delete(socket));
    }
    near.on('data', (chunk) => passRequest(plan, line, chunk));
    far.on('data', (chunk) => passReply(plan, line, chunk));
    near.once('close', () => far.end());
    far.once('close', () => near.destroy());
  });
  server.listen(paths.at);
  await once(server, 'listening');

  return {
    set: (fault) => {
      plan = planOf(fault);
    },
    passed: () => ({ request: plan.request, reply: plan.reply }),
    quiet: async () => {
      await Promise.all(broken);
      broken.clear();
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

interface Line {
  readonly near: Socket;
  readonly far: Socket;
  readonly breakOff: (lastRequest: Uint8Array, lastReply: Uint8Array) => void;
}

const nothing = new Uint8Array(0);

function planOf(fault: Fault | undefined): Plan {
  return { fault, isSpent: false, request: 0, reply: 0 };
}

function passRequest(plan: Plan, line: Line, chunk: Uint8Array): void {
  const { fault } = plan;
  const before = plan.request;
  plan.request += chunk.length;
  if (fault?.kind !== 'cut' || fault.side !== 'request' || plan.isSpent) {
    if (line.far.writable) line.far.write(chunk);
    return;
  }
  if (plan.request < fault.afterBytes) {
    line.far.write(chunk);
    return;
  }
  plan.isSpent = true;
  line.breakOff(chunk.subarray(0, fault.afterBytes - before), nothing);
}

function passReply(plan: Plan, line: Line, chunk: Uint8Array): void {
  const { fault } = plan;
  const before = plan.reply;
  plan.reply += chunk.length;
  if (fault === undefined || plan.isSpent) return write(line.near, chunk);
  switch (fault.kind) {
    case 'cut':
      if (fault.side === 'request' || plan.reply < fault.afterBytes) {
        return write(line.near, chunk);
      }
      plan.isSpent = true;
      return line.breakOff(nothing, chunk.subarray(0, fault.afterBytes - before));
    case 'lose':
      plan.isSpent = true;
      return line.breakOff(nothing, nothing);
    case 'hold':
      void fault.until.then(() => write(line.near, chunk));
      return;
    case 'garble':
      plan.isSpent = true;
      return line.breakOff(nothing, fault.bytes);
  }
}

function write(socket: Socket, chunk: Uint8Array): void {
  if (socket.writable) socket.write(chunk);
}

function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}
