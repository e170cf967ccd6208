/** Finds the scenarios and runs one, with its own upstream and load generator. */
import { readdirSync } from 'node:fs';
import { openContext } from './context.mjs';
import { watchForeignLoad } from './machine.mjs';
import { ownMicros } from './processes.mjs';

const folder = new URL('../scenarios/', import.meta.url);

/** These come first, in this order; others follow by name. */
const order = ['chat', 'protocols', 'bodies', 'sse', 'first-byte', 'translated', 'latency', 'flat'];

/** The scenarios of `scenarios/`: each file but the `support-` ones exports one. */
export async function allScenarios() {
  const files = readdirSync(folder).filter(
    (file) => file.endsWith('.mjs') && !file.startsWith('support-'),
  );
  const modules = await Promise.all(files.map((file) => import(new URL(file, folder))));
  const rank = ({ name }) => (order.includes(name) ? order.indexOf(name) : order.length);
  return modules.map(({ scenario }) => scenario).sort((a, b) => rank(a) - rank(b));
}

/** Runs a scenario; returns its rows and notes, its duration and the foreign load. */
export async function runScenario(scenario, options) {
  const foreignShare = watchForeignLoad(ownMicros);
  const beganAt = performance.now();
  const context = await openContext(options);
  try {
    const rows = await scenario.run(context);
    const foreign = foreignShare();
    const seconds = (performance.now() - beganAt) / 1_000;
    return { scenario, rows, notes: context.notes, foreign, seconds };
  } finally {
    await context.close();
  }
}
