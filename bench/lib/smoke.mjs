/**
 * The short form for CI: fails on a ratio above its limit, and on nothing else. Other processes
 * evict the code of a call from the caches, which costs the longer code more: the best rounds are
 * compared, a ratio fails only if it fails three times, and a machine that others use is no judge.
 */
import { scenarioReport } from './report.mjs';
import { runScenario } from './run-scenario.mjs';

const tries = 3;
/** Above this share of all cores, used by others, a ratio is not judged. */
const foreignLimit = 0.25;

/** Runs the scenarios of the short form; returns a sentence for each failure. */
export async function runSmoke(scenarios, options) {
  const failures = [];
  for (const scenario of scenarios) failures.push(...(await bestOfTries(scenario, options)));
  return failures;
}

/** The lines that failed every time. */
async function bestOfTries(scenario, options) {
  let failed;
  for (let attempt = 1; attempt <= tries; attempt += 1) {
    const outcome = await runScenario(scenario, options);
    process.stdout.write(`${scenarioReport(outcome)}\n`);
    if (outcome.foreign > foreignLimit) {
      process.stdout.write('Not judged: other processes use the machine.\n\n');
      return [];
    }
    const now = new Map(outcome.lines.filter(isFailed).map((line) => [nameOf(line), line]));
    failed = new Map([...(failed ?? now)].filter(([name]) => now.has(name)));
    if (failed.size === 0) return [];
    process.stdout.write(`Try ${attempt} of ${tries}: ${[...failed.keys()].join('; ')}\n\n`);
  }
  return [...failed.values()].map(
    (line) => `${nameOf(line)}: ${line.best.toFixed(2)} times the relay, above ${line.goal.ratio}.`,
  );
}

const nameOf = ({ name, figure }) => `${name}, ${figure}`;

const isFailed = ({ best, goal }) => goal !== undefined && best > goal.ratio;
