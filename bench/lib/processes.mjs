/**
 * Starts the processes of a measurement, each connected by an IPC channel: the upstream, the load
 * generator, and the contenders, which have their own core.
 */
import { fork } from 'node:child_process';
import { pinning, processMicros } from './machine.mjs';

const running = new Set();
let endedMicros = 0;

/**
 * Starts a module that uses `answering.mjs`. Resolves when it is ready, rejects when it exits
 * before that or takes longer than half a minute.
 *
 * @param module its URL
 * @param options `args` is passed as JSON; `on` selects the core; `execArgv` are flags of Node
 * @returns `ready`: what the process reported when it was ready; `ask(question, about)`: sends it
 *   a request; `stop()`: ends it
 */
export async function startProcess(module, { args = {}, on = 'others', execArgv = [] } = {}) {
  const [execPath, ...before] = pinned(on);
  const child = fork(module, [JSON.stringify(args)], {
    execPath,
    execArgv: [...before, ...execArgv],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const handle = handleOf(child, new URL(module).pathname.split('/').at(-1));
  running.add(handle);
  handle.ready = await handle.first;
  return handle;
}

function pinned(on) {
  return pinning === undefined
    ? [process.execPath]
    : ['taskset', '-c', pinning[on], process.execPath];
}

function handleOf(child, name) {
  const waiting = new Map();
  let lastId = 0;
  let complaint = '';
  const answerTo = (id) =>
    new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
    });
  child.stderr.on('data', (text) => {
    complaint = (complaint + text).slice(-2_000);
  });
  child.on('message', ({ id, answer, error }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) resolve(answer);
    else reject(new Error(`${name}: ${error}`));
  });
  const ended = new Promise((resolve) => {
    child.once('exit', () => {
      for (const { reject } of waiting.values()) reject(new Error(`${name} died. ${complaint}`));
      running.delete(handle);
      resolve();
    });
  });
  const first = answerTo(0);
  const late = setTimeout(() => {
    waiting.get(0)?.reject(new Error(`${name} was not ready in half a minute. ${complaint}`));
  }, 30_000);
  const calm = () => clearTimeout(late);
  first.then(calm, calm);

  const handle = {
    pid: child.pid,
    first,
    ask: (question, about) => {
      lastId += 1;
      const answer = answerTo(lastId);
      child.send({ id: lastId, question, about });
      return answer;
    },
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        endedMicros += processMicros(child.pid) ?? 0;
        child.kill();
      }
      await ended;
    },
  };
  return handle;
}

/** The CPU time of this run so far, µs: ours, and that of everything started here. */
export function ownMicros() {
  const { user, system } = process.cpuUsage();
  const theirs = [...running].reduce((sum, { pid }) => sum + (processMicros(pid) ?? 0), 0);
  return user + system + endedMicros + theirs;
}

/** Ends all processes that are still running. */
export async function stopAll() {
  await Promise.all([...running].map((handle) => handle.stop()));
}
