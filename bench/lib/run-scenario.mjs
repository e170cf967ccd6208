/**
 * Runs one scenario of the table: all its contenders stay alive side by side, each is warmed up by a
 * number of calls, then short rounds take them in random order. A figure is compared with that of its
 * baseline in the same round.
 */
import { openContext } from './context.mjs';
import { watchForeignLoad } from './machine.mjs';
import { measureFresh, measureWarm } from './measure.mjs';
import { ownMicros } from './processes.mjs';
import { shuffled } from './random.mjs';
import { summary } from './statistics.mjs';

const usualRounds = 12;
const usualWarmUp = { calls: 40_000, as: '' };
const warmingConnections = 32;
/** Streams that arrive more slowly than by this share of their pace are a note of the report. */
const keptPace = 0.9;

/** Returns the lines of its table, the notes, the seconds it took and the foreign load. */
export async function runScenario(scenario, { say, ...options }) {
  const foreignShare = watchForeignLoad(ownMicros);
  const beganAt = performance.now();
  const context = await openContext(options);
  try {
    const processes = await startAll(context, scenario);
    await warmUp(context, scenario, processes, say);
    const lines = [];
    for (const load of scenario.loads) {
      lines.push(...(await measureLoad(context, load, processes)));
      say(`${scenario.name}: measured ${load.label}`);
    }
    const foreign = foreignShare();
    const seconds = (performance.now() - beganAt) / 1_000;
    return { scenario, lines, notes: context.notes, foreign, seconds };
  } finally {
    await context.close();
  }
}

/** A contender under two loads, or with two calls, is one process: the same object of the table. */
async function startAll(context, { loads }) {
  const processes = new Map();
  for (const { on } of loads.filter(({ fresh }) => !fresh).flatMap(({ entries }) => entries)) {
    if (!processes.has(on) && (await context.isAvailable(on))) {
      processes.set(on, await context.start(on));
    }
  }
  return processes;
}

/** The calls are shared by the kinds of call that a process gets in this scenario. */
async function warmUp(context, { name, warmUp: others, loads }, processes, say) {
  const { calls, as, call } = { ...usualWarmUp, ...others };
  const warm = loads.filter(({ fresh }) => !fresh);
  for (const [contender, process] of processes) {
    const kinds = new Map();
    for (const load of warm) {
      for (const entry of load.entries.filter(({ on }) => on === contender)) {
        kinds.set(call ?? entry.call, { load, entry: { ...entry, call: call ?? entry.call } });
      }
    }
    for (const { load, entry } of kinds.values()) {
      const share = Math.ceil((context.warmUpCalls ?? calls) / kinds.size);
      const requests = Math.min(share, entry.mostWarmUpCalls ?? share);
      const limits = { requests, durationMs: undefined, waveMs: undefined, events: undefined };
      const shape = shapeOf(context, load, entry, process);
      await context.answerAs(load.warmUpAs ?? as);
      await context.load({ ...shape, ...limits, connections: warmingConnections });
    }
    say(`${name}: warmed up ${[...kinds.values()][0].entry.name}`);
  }
}

function shapeOf({ upstreamPort }, { shape }, { on, call, ...entry }, { port }) {
  const headers = { ...call.headers, ...on.headers?.(upstreamPort) };
  return { ...shape, ...entry.shape, port, call: { ...call, headers } };
}

async function measureLoad(context, load, processes) {
  const entries = await availableOf(context, load);
  const values = new Map(entries.map(({ name }) => [name, []]));
  const measureOne = (entry) => {
    const shape = (process) => shapeOf(context, load, entry, process);
    if (load.fresh) return measureFresh(context, entry.on, shape, load);
    const process = processes.get(entry.on);
    return measureWarm(context, process, shape(process), load);
  };
  await firstCalls(context, load, entries, processes);
  const rounds = context.rounds ?? load.rounds ?? usualRounds;
  for (let round = 0; round < rounds; round += 1) {
    for (const entry of shuffled(entries, context.random)) {
      values.get(entry.name).push(await measureOne(entry));
    }
  }
  notePace(context, load, values);
  return load.figures.flatMap((figure) =>
    entries.map((entry) => lineOf(figure, load, entry, values)),
  );
}

async function availableOf(context, { entries }) {
  const found = [];
  for (const entry of entries) {
    if (await context.isAvailable(entry.on)) found.push(entry);
    else context.notes.push(`${entry.name} is not installed here: left out.`);
  }
  return found;
}

/** Further calls of a load that differs from the warm-up, such as large bodies. */
async function firstCalls(context, { as = '', moreCalls, ...load }, entries, processes) {
  if (moreCalls === undefined) return;
  await context.answerAs(as);
  for (const entry of entries) {
    const shape = shapeOf(context, load, entry, processes.get(entry.on));
    await context.load({
      ...shape,
      requests: context.warmUpCalls ?? moreCalls,
      durationMs: undefined,
    });
  }
}

function notePace({ notes }, { pace }, values) {
  if (pace === undefined) return;
  for (const [name, rounds] of values) {
    const kept = summary(rounds.map(({ perSecond }) => perSecond)).median / pace;
    if (kept >= keptPace) continue;
    notes.push(`${name}: ${Math.round(kept * 100)} % of ${pace} events a second arrived.`);
  }
}

/**
 * A line of the report: the values of a figure and their relation to the baseline, round by round:
 * a ratio, or a difference where the figure says `above`.
 */
function lineOf({ of, label, unit, above = false, goals = {}, baseline }, load, entry, values) {
  const own = values.get(entry.name).map((figures) => figures[of]);
  const other = baseline ?? entry.baseline ?? load.baseline;
  const base = values.get(other)?.map((figures) => figures[of]);
  const relate = (value, round) => (above ? value - base[round] : value / base[round]);
  const isCompared = base !== undefined && other !== entry.name;
  return {
    name: entry.name,
    figure: `${load.label}: ${label}`,
    unit,
    above,
    values: summary(own),
    relation: isCompared ? summary(own.map(relate)) : undefined,
    best: isCompared ? Math.min(...own) / Math.min(...base) : undefined,
    goal: goals[entry.name],
  };
}
