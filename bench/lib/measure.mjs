/** Measures one contender under one load, in figures for each call or event. */
import { setTimeout as wait } from 'node:timers/promises';
import { processMemory } from './machine.mjs';

/** A contender's code leaves the CPU caches while others run: this load brings it back. */
const reheatMs = 150;
const mebibyte = 1024 * 1024;

/** A contender that has been warmed up. */
export async function measureWarm(context, process, shape, options) {
  await context.answerAs(options.as ?? '');
  if (shape.durationMs !== undefined) await context.load({ ...shape, durationMs: reheatMs });
  return measure(context, process, shape, options);
}

/** A contender that starts for this measurement, and ends with it. */
export async function measureFresh(context, contender, shapeOf, { firstLoad, ...options }) {
  const beganAt = performance.now();
  const process = await context.start(contender);
  if (firstLoad !== undefined) {
    await context.answerAs(firstLoad.as);
    await context.load({ ...shapeOf(process), requests: undefined, ...firstLoad });
  }
  const figures = await measure(context, process, shapeOf(process), options);
  const startMs = performance.now() - beganAt;
  await process.stop();
  return { ...figures, startMs };
}

async function measure(context, process, shape, { as = '', loopDelay = false }) {
  await context.answerAs(as);
  const memory = processMemory(process.pid);
  const before = await process.usage();
  const running = context.load(shape);
  // Awaited below; until then a failure is not an unhandled one.
  running.catch(() => {});
  if (loopDelay) await loopDelayBegins(process, shape);
  const { requests, events, seconds, latency, firstByte, eventDelay } = await running;
  const loopDelayMs = loopDelay ? await process.ask('delayEnd') : undefined;
  const { cpuMicros } = await process.usage();
  const micros = cpuMicros - before.cpuMicros;
  const { peakBytes } = processMemory(process.pid);
  const growth = peakBytes - memory.rssBytes;
  return {
    callMicros: micros / requests,
    callMillis: micros / requests / 1_000,
    eventMicros: micros / events,
    allMillis: micros / 1_000,
    perSecond: (events || requests) / seconds,
    latencyMillis: latency.p50 / 1_000,
    firstByteMillis: firstByte.p50 / 1_000,
    eventDelayP50: eventDelay.p50,
    eventDelayP99: eventDelay.p99,
    loopDelayMs,
    peakMiB: peakBytes / mebibyte,
    growthMiB: growth / mebibyte,
    growthKiBEach: growth / shape.connections / 1_024,
  };
}

/** All streams open at the same moment, a delay that running streams do not have. */
async function loopDelayBegins(process, { settleMs }) {
  await wait(settleMs);
  await process.ask('delayBegin');
}
