/**
 * Runs all scenarios, prints a table for each and writes them to `results.md`.
 * `--only chat,sse` selects scenarios and `--rounds 1` shortens (neither writes the file);
 * `--cpu-prof folder` profiles the contenders; `--smoke` is the short form for CI.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { machineFacts } from './lib/machine.mjs';
import { head, scenarioReport } from './lib/report.mjs';
import { allScenarios, runScenario } from './lib/scenarios.mjs';
import { runSmoke } from './lib/smoke.mjs';

const { values: args } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    'cpu-prof': { type: 'string' },
    smoke: { type: 'boolean', default: false },
  },
});
const fullRounds = 5;
const rounds = Number(args.rounds ?? fullRounds);
const warmUp = { stepMs: 1_000, mostSteps: 30 };
const names = args.only?.split(',');

const scenarios = (await allScenarios()).filter(({ name }) => names?.includes(name) ?? true);
if (args.smoke) {
  const failures = await runSmoke(scenarios);
  for (const failure of failures) process.stderr.write(`${failure}\n`);
  process.exit(failures.length === 0 ? 0 : 1);
}

if (!existsSync(new URL('node_modules/', import.meta.url))) {
  process.stderr.write(
    'The contenders are missing: npm ci --prefix bench --ignore-scripts --no-engine-strict\n',
  );
  process.exit(1);
}
const parts = [head(machineFacts(), { rounds })];
process.stdout.write(`${parts[0]}\n`);
for (const scenario of scenarios) {
  const part = scenarioReport(
    await runScenario(scenario, { rounds, warmUp, profiles: args['cpu-prof'] }),
  );
  process.stdout.write(`${part}\n`);
  parts.push(part);
}
if (names === undefined && args.rounds === undefined) {
  writeFileSync(new URL('results.md', import.meta.url), parts.join('\n'));
}
process.exit(0);
