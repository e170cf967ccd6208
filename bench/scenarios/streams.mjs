/**
 * Many streams at once: the memory of thousands of slow ones, and the delays of a host through
 * whose event loop they pass.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { chatCall } from '../lib/calls.mjs';
import { row } from '../lib/compare.mjs';
import { bareRelay, tollgate, tollgates } from '../lib/contenders.mjs';
import { processMemory } from '../lib/machine.mjs';
import { warmUp } from '../lib/warm-up.mjs';

const slow = {
  streams: Math.min(5_000, mostStreams()),
  events: 30,
  everyMs: 1_000,
  holdMs: 15_000,
};
/** 10,000 events a second: about half of its core. */
const lively = { streams: 2_000, events: 50, everyMs: 200, holdMs: 5_000 };
const idleMs = 2_000;
const mebibyte = 1_024 * 1_024;
const mostLoopRounds = 3;
const onExpress = tollgates.at(-1);

export const scenario = {
  name: 'streams',
  title: 'Thousands of streams at once',

  async run(context) {
    const rows = [];
    for (const begin of [bareRelay, tollgate]) rows.push(...(await hold(context, begin)));
    context.note(
      `${slow.streams} streams of an event a second, RSS at its highest within ` +
        `${slow.holdMs / 1_000} s, after all were open; one round.`,
    );
    rows.push(...(await loopDelays(context)));
    context.note(
      `Event loop: ${lively.streams} streams, an event per ${lively.everyMs} ms each, measured ` +
        'in the host by monitorEventLoopDelay with a resolution of 1 ms.',
    );
    return rows;
  },
};

/** Opens the streams and watches the memory until they begin to end. */
async function hold(context, begin) {
  const entry = await begin(context, streamCall(), { prefix });
  const { name, contender, shape } = entry;
  await warmUpBursts(context, entry);
  await context.answerStreams(pathOf(slow));
  const { rssBytes: idleBytes } = processMemory(contender.pid);
  const ended = openAll(context, contender, shape, slow);
  await untilOpen(context, slow.streams);
  const before = await contender.usage();
  let highestBytes = 0;
  for (const until = performance.now() + slow.holdMs; performance.now() < until; ) {
    highestBytes = Math.max(highestBytes, processMemory(contender.pid).rssBytes);
    await wait(250);
  }
  const after = await contender.usage();
  const { requests, firstFailure } = await ended;
  if (firstFailure !== undefined) context.note(`${name}: ${firstFailure}`);
  await contender.stop();

  const ours = name !== 'bare relay';
  const line = (figure, unit, value, target) =>
    row({ contender: name, figure, unit, values: [value], target: ours ? target : undefined });
  const eachKib = (highestBytes - idleBytes) / slow.streams / 1_024;
  const share = (after.cpuMicros - before.cpuMicros) / slow.holdMs / 10;
  return [
    line('RSS idle, warmed up', 'MiB', idleBytes / mebibyte),
    line(`RSS with ${slow.streams} slow streams`, 'MiB', highestBytes / mebibyte),
    line('RSS a slow stream, above idle', 'KiB', eachKib, { of: 'median', max: 64 }),
    line('CPU meanwhile', '% of a core', share),
    line('streams that came whole', '', requests, { of: 'median', min: slow.streams }),
  ];
}

/** The event-loop delay of the host, idle and with streams, for the relay and for Tollgate. */
async function loopDelays(context) {
  const rounds = Math.min(context.rounds, mostLoopRounds);
  const entries = [];
  for (const begin of [bareRelay, onExpress]) {
    const entry = await begin(context, streamCall(), { prefix });
    await warmUpBursts(context, entry);
    entries.push(entry);
  }
  await context.answerStreams(pathOf(lively));
  const delays = new Map(entries.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const entry of entries) delays.get(entry.name).push(await loopDelay(context, entry));
  }
  return entries.flatMap(({ name }) => {
    const of = (figure) => delays.get(name).map((delay) => delay[figure]);
    const target = name === 'bare relay' ? undefined : { of: 'median', max: 10 };
    const line = (figure, unit, values, most) =>
      row({ contender: name, figure, unit, values, target: most });
    return [
      line('event loop delay p99, idle', 'ms', of('idle')),
      line('event loop delay p99 above idle', 'ms', of('added'), target),
      line('CPU meanwhile', '% of a core', of('share')),
    ];
  });
}

async function loopDelay(context, { contender, shape }) {
  await contender.ask('delayBegin');
  await wait(idleMs);
  const { p99Ms: idle } = await contender.ask('delayEnd');
  const ended = openAll(context, contender, shape, lively);
  await untilOpen(context, lively.streams);
  const before = await contender.usage();
  await contender.ask('delayBegin');
  await wait(lively.holdMs);
  const { p99Ms } = await contender.ask('delayEnd');
  const after = await contender.usage();
  await ended;
  const share = (after.cpuMicros - before.cpuMicros) / lively.holdMs / 10;
  return { idle, added: p99Ms - idle, share };
}

const streamCall = () => chatCall({ stream: true });
/** Below it the upstream gives the reply that was set last. */
const prefix = '/stream';
const pathOf = ({ events, everyMs }) => `/${events}-${everyMs}`;

/** Short bursts: one-time costs, such as compiled code, are not the cost of a stream. */
async function warmUpBursts(context, entry) {
  await context.answerStreams('/10-0');
  await warmUp(context, entry, { ...entry.shape, port: entry.contender.port, connections: 32 });
}

/** One call on each connection, all begun at once; resolves when the last stream has ended. */
function openAll(context, { port }, shape, { streams, events }) {
  const calls = { connections: streams, requests: streams, events, allowErrors: true };
  const ended = context.load({ ...shape, port, ...calls });
  // Awaited later; until then a failure is not an unhandled one.
  ended.catch(() => {});
  return ended;
}

/** Streams that failed or have ended count as opened; failures are reported at the end. */
async function untilOpen(context, streams) {
  for (;;) {
    const { open, done, errors } = await context.progress();
    if (open + done + errors >= streams) return;
    await wait(50);
  }
}

/** A gateway has two sockets for each stream; Node raises its file limit to the hard limit. */
function mostStreams() {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const hardLimit = /^Max open files +\S+ +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY;
  return Math.floor((hardLimit - 200) / 2);
}
