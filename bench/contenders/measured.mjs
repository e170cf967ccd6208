/**
 * Serves a contender in its own process, and reports its port, CPU time and memory.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { answering, args } from '../lib/answering.mjs';

/** The options of the contender. */
export const options = { prefix: '', ...args };

/** The origin to which a caller's path is appended. */
export const upstreamOrigin = `http://127.0.0.1:${options.upstreamPort}`;

/**
 * Listens and answers. `server` is anything with Node's `listen`; a contender that is not a
 * Node server passes `port` and its own `usage`.
 */
export async function measured({ server, port, usage = ownUsage }) {
  // An orderly exit writes the profile and ends the contender's own child processes.
  process.on('SIGTERM', () => process.exit(0));
  const bound = port ?? (await listening(server));
  // What the set-up left is not collected at the expense of the first calls.
  globalThis.gc?.();
  answering({ port: bound }, { usage, ...loopAnswers() });
}

function listening(server) {
  return new Promise((resolve) => {
    server.listen({ port: 0, host: '127.0.0.1', backlog: 8_192 }, () =>
      resolve(server.address().port),
    );
  });
}

function ownUsage() {
  const { user, system } = process.cpuUsage();
  return { cpuMicros: user + system };
}

/** A histogram of the delay of a 1 ms timer between `delayBegin` and `delayEnd`. */
function loopAnswers() {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  return {
    delayBegin: () => {
      delay.reset();
      delay.enable();
    },
    delayEnd: () => {
      delay.disable();
      return delay.percentile(99) / 1e6;
    },
  };
}
