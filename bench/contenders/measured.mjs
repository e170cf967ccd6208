/**
 * Serves a contender in its own process: tells its port, and its CPU time and memory when asked.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { answering, args } from '../lib/answering.mjs';

/** What the contender was started with. */
export const options = { prefix: '', dialect: 'openai', ...args };

/** The base that a caller's path is put behind. */
export const upstreamOrigin = `http://127.0.0.1:${options.upstreamPort}`;

/**
 * Listens and answers. `server` is anything with node's `listen`; a contender that is no Node
 * server gives `port` and its own `usage`.
 */
export async function measured({ server, port, usage = ownUsage, answers = {} }) {
  // In order, so that a profile is written and what a contender started is ended.
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
 * Two ways to see the event loop. `gapsBegin` turns the loop without rest and keeps the longest
 * time between two turns, which is the longest synchronous section; `gapsEnd` tells it.
 * `delayBegin` and `delayEnd` histogram how late a timer of 1 ms is.
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
