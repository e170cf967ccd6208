/**
 * The load generator, a separate process: keep-alive connections on raw sockets, each request
 * written as one prepared buffer, and only as much of a response parsed as proves it complete. It
 * must cost less than what it measures.
 */
import { answering, args } from './answering.mjs';
import { usualKeys } from './calls.mjs';
import { openConnection } from './load-connection.mjs';
import { loadResults } from './load-results.mjs';
import { randomNumbers } from './random.mjs';
import { requestWriter } from './request-writer.mjs';

const random = randomNumbers(args.seed);

/**
 * Calls one port until the requested number of calls or the time is reached.
 *
 * @param shape `port`; `call` from `calls.mjs`; `connections`; `requests` or `durationMs`; `waveMs`:
 *   how many ms apart all connections begin a call together; `keys` and `models`: how many there
 *   are; `events`: the number of events in a stream; `settleMs`: how long their delays are ignored
 *   at first
 */
async function run(shape) {
  const {
    port,
    call,
    connections,
    requests = Number.POSITIVE_INFINITY,
    durationMs,
    waveMs,
  } = shape;
  const counts = { n: shape.keys ?? usualKeys, m: shape.models ?? 1 };
  const write = requestWriter(call, port, { counts, random });
  const results = loadResults(shape);
  const beganAt = performance.now();
  const endsAt = durationMs === undefined ? Number.POSITIVE_INFINITY : beganAt + durationMs;
  let begun = 0;

  /** The next call for an idle connection; undefined when all have begun. */
  const nextCall = () => {
    if (begun >= requests || performance.now() >= endsAt) return;
    begun += 1;
    const wave = Math.floor((begun - 1) / connections);
    return { call, bytes: write(), atMs: waveMs === undefined ? 0 : beganAt + wave * waveMs };
  };
  await Promise.all(
    Array.from({ length: connections }, () => openConnection({ port, nextCall, results })),
  );
  return results.report((performance.now() - beganAt) / 1_000);
}

answering(undefined, { run });
