/** One keep-alive connection of the load generator, which makes one call after another. */
import { connect } from 'node:net';
import { messageReader } from './http-reader.mjs';

/** All connections share one buffer: each consumes its bytes before the next one is served. */
const buffer = Buffer.allocUnsafe(256 * 1024);

/** Resolves when no call is left; rejects on the first failed one. */
export function openConnection({ port, nextCall, results }) {
  return new Promise((resolve, reject) => {
    let socket;
    let answer;
    const reader = () =>
      messageReader({
        onHead: (text) => answer.onHead(text),
        onData: (bytes) => answer.onData(bytes),
        onEnd: () => ended(answer.onEnd()),
      });

    function next() {
      const following = nextCall();
      if (following === undefined) {
        socket?.destroy();
        resolve();
        return;
      }
      const waitMs = following.atMs - performance.now();
      if (waitMs > 0) setTimeout(() => send(following), waitMs);
      else send(following);
    }

    function send({ call, bytes }) {
      if (socket === undefined || socket.destroyed) socket = opened();
      answer = results.begin(call);
      socket.write(bytes);
    }

    function ended(failure) {
      const { keepAlive } = answer;
      answer = undefined;
      if (failure !== undefined) return fail(failure);
      if (!keepAlive) socket.destroy();
      next();
    }

    function fail(failure) {
      socket.destroy();
      reject(new Error(failure));
    }

    function opened() {
      const { feed, finish } = reader();
      const callback = (length) => {
        feed(buffer.subarray(0, length));
        return true;
      };
      const fresh = connect({
        port,
        host: '127.0.0.1',
        noDelay: true,
        onread: { buffer, callback },
      });
      const lost = (why) => {
        if (fresh === socket && answer !== undefined && !finish()) fail(`The connection ${why}.`);
      };
      fresh.on('error', (error) => lost(`failed: ${error.message}`));
      fresh.on('close', () => lost('was closed in the middle of a response'));
      return fresh;
    }

    next();
  });
}
