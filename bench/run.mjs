/**
 * Runs all scenarios, prints a table for each and writes them to `results.md`.
 * `--only chat,streams` selects scenarios, `--rounds 1` shortens and `--seed 7` repeats the draws of
 * another run, `--warm-up 500` tries a scenario out (only a run without the first, second and last
 * writes the file); `--cpu-prof folder` profiles the contenders; `--smoke` is the short form for CI.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { machineFacts } from './lib/machine.mjs';
import { failureReport, head, scenarioReport } from './lib/report.mjs';
import { runScenario } from './lib/run-scenario.mjs';
import { runSmoke } from './lib/smoke.mjs';
import { scenarios, smokeScenarios } from './scenarios/table.mjs';

const { values: args } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    seed: { type: 'string' },
    'warm-up': { type: 'string' },
    'cpu-prof': { type: 'string' },
    smoke: { type: 'boolean', default: false },
  },
});
const numberOf = (text) => (text === undefined ? undefined : Number(text));
const beganAt = performance.now();
const options = {
  seed: Number(args.seed ?? Date.now() % 1_000_000),
  rounds: numberOf(args.rounds),
  warmUpCalls: numberOf(args['warm-up']),
  profiles: args['cpu-prof'],
  say: (text) => process.stderr.write(`${elapsed()} ${text}\n`),
};

/** The time since the run began, `12:07`. */
function elapsed() {
  const seconds = Math.round((performance.now() - beganAt) / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

if (args.smoke) {
  const failures = await runSmoke(smokeScenarios, options);
  for (const failure of failures) process.stderr.write(`${failure}\n`);
  process.exit(failures.length === 0 ? 0 : 1);
}

const names = args.only?.split(',');
const chosen = scenarios.filter(({ name }) => names?.includes(name) ?? true);
if (names === undefined && !existsSync(new URL('node_modules/', import.meta.url))) {
  process.stderr.write(
    'The contenders are missing: npm ci --prefix bench --ignore-scripts --no-engine-strict\n',
  );
  process.exit(1);
}
const parts = [head(machineFacts(), options)];
process.stdout.write(`${parts[0]}\n`);
let hasFailed = false;
for (const scenario of chosen) {
  const part = await reportOf(scenario);
  process.stdout.write(`${part}\n`);
  parts.push(part);
}
if (names === undefined && options.rounds === undefined && options.warmUpCalls === undefined) {
  writeFileSync(new URL('results.md', import.meta.url), parts.join('\n'));
}
process.exit(hasFailed ? 1 : 0);

/** One scenario that fails does not cost the figures of the others. */
async function reportOf(scenario) {
  try {
    return scenarioReport(await runScenario(scenario, options));
  } catch (error) {
    hasFailed = true;
    process.stderr.write(`${scenario.name}: ${error.stack}\n`);
    return failureReport(scenario, error);
  }
}
