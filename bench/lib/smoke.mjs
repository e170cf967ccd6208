/**
 * The short form for CI: fails on a ratio more than a third over its target, or over what it is
 * known to be at where that is missed, and on nothing else.
 * What shares the machine only ever adds, so the best rounds are compared, and a figure counts as
 * failed only when it failed in three tries.
 */
import { scenarioReport } from './report.mjs';
import { runScenario } from './scenarios.mjs';

const allowedExcess = 4 / 3;
const tries = 3;
const options = { rounds: 5, warmUp: { stepMs: 500, mostSteps: 20 }, isSmoke: true };

/** Runs the scenarios that have a short form; answers with the sentences of what failed. */
export async function runSmoke(scenarios) {
  const failures = [];
  for (const scenario of scenarios.filter(({ inSmoke }) => inSmoke === true)) {
    failures.push(...(await bestOfTries(scenario)));
  }
  return failures;
}

/** The rows that failed in every try. */
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
    return `${scenario.title}: ${nameOf(row)} is at ${ratio}, a third over ${boundOf(row)}.`;
  });
}

const nameOf = ({ contender, figure }) => `${contender}, ${figure}`;

function isFailed(row) {
  return row.target?.of === 'ratio' && row.bestRatio > boundOf(row) * allowedExcess;
}

/** From where a third more is a regression. */
function boundOf({ target: { max, missedAt = 0 } }) {
  return Math.max(max, missedAt);
}
