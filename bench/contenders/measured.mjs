/**
 * Serves a contender in its own process, and reports its port, CPU time and memory.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { answering, args } from '../lib/answering.mjs';

/** The options of the contender. */
export const options = { prefix: '', dialect: 'openai', ...args };

/** The origin to which a caller's path is appended. */
export const upstreamOrigin = `http://127.0.0.1:${options.upstreamPort}`;

/**
 * Listens and answers. `server` is anything with Node's `listen`; a contender that is not a
 * Node server passes `port` and its own `usage`.
 */
export async function measured({ server, port, usage = ownUsage, answers = {} }) {
  // An orderly exit writes the profile and ends the contender's own child processes.
  process.on('SIGTERM', () => process.exit(0));
  const bound = port ?? (await listening(server));
  answering({ port: bound }, { usage, ...loopAnswers(), ...answers });
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
  return { cpuMicros: user + system, rssBytes: process.memoryUsage().rss };
}

/**
 * Two ways to measure the event loop. `gapsBegin` keeps the loop turning and records the longest
 * time between two turns, which is the longest synchronous section; `gapsEnd` returns it.
 * `delayBegin` and `delayEnd` make a histogram of the delay of a 1 ms timer.
 */
function loopAnswers() {
  let longestMs = 0;
  let turning = false;
  let lastAt = 0;
  const turn = () => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - lastAt);
    lastAt = now;
    if (turning) setImmediate(turn);
  };
  const delay = monitorEventLoopDelay({ resolution: 1 });
  return {
    gapsBegin: () => {
      longestMs = 0;
      turning = true;
      lastAt = performance.now();
      setImmediate(turn);
    },
    gapsEnd: () => {
      turning = false;
      return { longestMs };
    },
    delayBegin: () => {
      delay.reset();
      delay.enable();
    },
    delayEnd: () => {
      delay.disable();
      return { p50Ms: delay.percentile(50) / 1e6, p99Ms: delay.percentile(99) / 1e6 };
    },
  };
}
