/** The context of a scenario: the upstream, the load generator, and contenders to start. */
import { startProcess, stopAll } from './processes.mjs';

const contenders = new URL('../contenders/', import.meta.url);

/**
 * Starts the upstream and the load generator. A scenario uses `start`, `load`, `progress`,
 * `answerStreams` and `note`; the run closes the context.
 */
export async function openContext({ rounds, isSmoke = false, warmUp, profiles }) {
  const upstream = await startProcess(new URL('../upstream/server.mjs', import.meta.url));
  const generator = await startProcess(new URL('load.mjs', import.meta.url));
  const upstreamPort = upstream.ready.port;
  const notes = [];
  const profiling = profilesTo(profiles);

  return {
    rounds,
    isSmoke,
    /** The length of a warm-up step, `stepMs`, and the maximum number of steps, `mostSteps`. */
    warmUp,
    upstreamPort,
    notes,
    /** The upstream itself as a contender: the cost of a direct call. */
    direct: { port: upstreamPort, pid: upstream.pid, usage: async () => ({ cpuMicros: 0 }) },

    /**
     * Starts `contenders/<name>.mjs` with options: `prefix` (selects the upstream's reply), and
     * its own. The contender has `port`, `pid`, `usage()`, `ask()` and `stop()`.
     */
    start: async (name, options = {}, { execArgv = [] } = {}) => {
      const process = await startProcess(new URL(`${name}.mjs`, contenders), {
        args: { upstreamPort, ...options },
        on: 'contender',
        execArgv: [...profiling(options.host ?? name), ...execArgv],
      });
      const { port } = process.ready;
      return Object.assign(process, { name, port, usage: () => process.ask('usage') });
    },

    /** Runs one load (`load.mjs` has its shape) to its end. */
    load: (shape) => generator.ask('run', shape),

    /** The progress of the current load: `begun`, `open`, `done`, `errors`. */
    progress: () => generator.ask('progress'),

    /** Makes the upstream answer below `/stream` as it does below this path: `/200-0`. */
    answerStreams: (as) => upstream.ask('answerStreams', as),

    /** Adds a sentence below the table of this scenario. */
    note: (text) => {
      notes.push(text);
    },

    close: stopAll,
  };
}

/** Node flags that write a profile named after the contender; none without a folder. */
function profilesTo(folder) {
  if (folder === undefined) return () => [];
  return (name) => [
    '--cpu-prof',
    `--cpu-prof-dir=${folder}`,
    `--cpu-prof-name=${name}-${Date.now()}.cpuprofile`,
  ];
}
