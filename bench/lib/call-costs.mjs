/**
 * What one call costs in counts, which unlike times are nearly the same on every machine: calls of
 * functions in `dist/`, promises, and bytes allocated. Everything runs in this process, without
 * sockets, so that only the gateway is counted, with the listener of the README.
 */
import { createHook } from 'node:async_hooks';
import { Session } from 'node:inspector/promises';
import { inProcessGateway } from './in-process-gateway.mjs';
import { sampleCalls } from './sample-calls.mjs';

/** Calls before anything is counted, so that what is made once is made. */
const warmUpCalls = 500;
const measuredCalls = 500;

const nothing = () => {};
const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/**
 * Measures each sample call with the given build.
 *
 * @returns rows of `{ name, functionCalls, functions, promises, bytes, called }`
 */
export async function callCosts({ dist, only }) {
  const gateway = await inProcessGateway(dist, ({ logEvents }) => ({
    onEvent: logEvents(logger, { level: 'warn' }),
  }));
  const rows = [];
  for (const call of sampleCalls.filter(({ name }) => only?.includes(name) ?? true)) {
    const run = () => gateway.run(call);
    for (let at = 0; at < warmUpCalls; at += 1) await run();
    rows.push({
      name: call.name,
      bytes: await bytesOf(run),
      promises: await promisesOf(run),
      ...(await functionCallsOf(run)),
    });
  }
  await gateway.close();
  return rows;
}

/** Needs `--expose-gc`, and a young generation that the calls do not fill. */
async function bytesOf(run) {
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < measuredCalls; at += 1) await run();
  return Math.round((process.memoryUsage().heapUsed - before) / measuredCalls);
}

async function promisesOf(run) {
  let promises = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'PROMISE') promises += 1;
    },
  });
  hook.enable();
  for (let at = 0; at < 100; at += 1) await run();
  hook.disable();
  return Math.round(promises / 100);
}

async function functionCallsOf(run) {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  await run();
  await session.post('Profiler.takePreciseCoverage');
  await run();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  const called = result
    .filter(({ url }) => url.includes('/dist/'))
    .flatMap(({ functions }) => functions)
    .map(({ functionName, ranges }) => [functionName || '(anonymous)', ranges[0].count])
    .filter(([, count]) => count > 0)
    .sort(([, one], [, other]) => other - one);
  const functionCalls = called.reduce((sum, [, count]) => sum + count, 0);
  return { functionCalls, functions: called.length, called };
}
