/**
 * The short form for CI: fails on a ratio more than a third above its target, or above its known
 * value if the target is missed, and on nothing else. Other processes on the machine can only add
 * time, so the best rounds are compared, and a figure fails only if it fails three times.
 */
import { scenarioReport } from './report.mjs';
import { runScenario } from './scenarios.mjs';

const allowedExcess = 4 / 3;
const tries = 3;
const options = { rounds: 5, warmUp: { stepMs: 500, mostSteps: 20 }, isSmoke: true };

/** Runs the scenarios that have a short form; returns a sentence for each failure. */
export async function runSmoke(scenarios) {
  const failures = [];
  for (const scenario of scenarios.filter(({ inSmoke }) => inSmoke === true)) {
    failures.push(...(await bestOfTries(scenario)));
  }
  return failures;
}

/** The rows that failed every time. */
async function bestOfTries(scenario) {
  let failed;
  for (let attempt = 1; attempt <= tries; attempt += 1) {
    const outcome = await runScenario(scenario, options);
    process.stdout.write(`${scenarioReport(outcome)}\n`);
    const now = new Map(outcome.rows.filter(isFailed).map((row) => [nameOf(row), row]));
    failed = new Map([...(failed ?? now)].filter(([name]) => now.has(name)));
    if (failed.size === 0) return [];
    process.stdout.write(`Try ${attempt} of ${tries}: ${[...failed.keys()].join('; ')}\n\n`);
  }
  return [...failed.values()].map((row) => {
    const ratio = row.bestRatio.toFixed(2);
    return `${scenario.title}: ${nameOf(row)} is at ${ratio}, more than a third above ${boundOf(row)}.`;
  });
}

const nameOf = ({ contender, figure }) => `${contender}, ${figure}`;

function isFailed(row) {
  return row.target?.of === 'ratio' && row.bestRatio > boundOf(row) * allowedExcess;
}

/** A third above this value is a regression. */
function boundOf({ target: { max, missedAt = 0 } }) {
  return Math.max(max, missedAt);
}
