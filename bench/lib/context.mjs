/** What a scenario is measured with: the upstream, the load generator, and contenders to start. */
import { startProcess, stopAll } from './processes.mjs';
import { randomNumbers } from './random.mjs';
import { startPostgres, startRedis } from './services.mjs';

const contenders = new URL('../contenders/', import.meta.url);
const services = { redis: startRedis, postgres: startPostgres };

/**
 * `rounds` and `warmUpCalls` replace those of the table; `profiles` is the folder for profiles of the
 * contenders.
 */
export async function openContext({ seed, rounds, warmUpCalls, profiles }) {
  const upstream = await startProcess(new URL('../upstream/server.mjs', import.meta.url));
  const generator = await startProcess(new URL('load.mjs', import.meta.url), { args: { seed } });
  const upstreamPort = upstream.ready.port;
  const stores = new Map();
  const notes = [];

  /** The socket of a contender's store; undefined where it needs none. */
  async function socketOf(store) {
    if (services[store] === undefined) return undefined;
    if (!stores.has(store)) stores.set(store, await services[store]());
    // node-redis takes the socket, pg the folder that it is in.
    return store === 'postgres' ? stores.get(store)?.folder : stores.get(store)?.path;
  }

  return {
    rounds,
    warmUpCalls,
    upstreamPort,
    notes,
    random: randomNumbers(seed),

    /** Whether the server that a contender's store needs could be started. */
    isAvailable: async ({ options: { store } = {} }) =>
      services[store] === undefined || (await socketOf(store)) !== undefined,

    /** Starts a contender of the table; it has `port`, `pid`, `usage()`, `ask()` and `stop()`. */
    start: async ({ module, options = {} }) => {
      const socket = await socketOf(options.store);
      const name = Object.values(options).join('-') || module;
      const process = await startProcess(new URL(`${module}.mjs`, contenders), {
        args: { upstreamPort, prefix: '/set', socket, ...options },
        on: 'contender',
        execArgv: ['--expose-gc', ...profiling(profiles, name)],
      });
      return Object.assign(process, {
        port: process.ready.port,
        usage: () => process.ask('usage'),
      });
    },

    /** Runs one load (`load.mjs` has its shape) to its end. */
    load: (shape) => generator.ask('run', shape),

    /** Makes the upstream answer contenders as it does below this path: `/200-0`. */
    answerAs: (prefix) => upstream.ask('answerAs', prefix),

    close: async () => {
      await stopAll();
      for (const store of stores.values()) await store?.stop();
    },
  };
}

/** Node flags that write a profile named after the contender; none without a folder. */
function profiling(folder, name) {
  if (folder === undefined) return [];
  const file = `${name}-${Date.now()}.cpuprofile`;
  return ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${file}`];
}
