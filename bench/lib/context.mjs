/** What a scenario works with: the upstream, the load generator, and contenders to start. */
import { startProcess, stopAll } from './processes.mjs';

const contenders = new URL('../contenders/', import.meta.url);

/**
 * Starts upstream and load generator. A scenario gets `start`, `load`, `progress`,
 * `answerStreams` and `note`; the
 * run closes it.
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
    /** How long a step of a warm-up is, `stepMs`, and how many there may be, `mostSteps`. */
    warmUp,
    upstreamPort,
    notes,
    /** The upstream itself as a contender: what a call costs with nothing between. */
    direct: { port: upstreamPort, pid: upstream.pid, usage: async () => ({ cpuMicros: 0 }) },

    /**
     * Starts `contenders/<name>.mjs` with options: `prefix` (how the upstream answers), and its
     * own. The contender has `port`, `pid`, `usage()`, `ask()` and `stop()`.
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

    /** How the load that runs now is doing: `begun`, `open`, `done`, `errors`. */
    progress: () => generator.ask('progress'),

    /** From now on the upstream answers below `/stream` as below this path: `/200-0`. */
    answerStreams: (as) => upstream.ask('answerStreams', as),

    /** A sentence under the table of this scenario. */
    note: (text) => {
      notes.push(text);
    },

    close: stopAll,
  };
}

/** Flags for a profile that bears the contender's name, or none. */
function profilesTo(folder) {
  if (folder === undefined) return () => [];
  return (name) => [
    '--cpu-prof',
    `--cpu-prof-dir=${folder}`,
    `--cpu-prof-name=${name}-${Date.now()}.cpuprofile`,
  ];
}
