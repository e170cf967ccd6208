/**
 * `npm run verify`: runs the steps of steps.mjs, those that wait for the network beside those that
 * use the cores. Prints what a step printed when it ends, only the end of it where it passed. Goes
 * on after a failure, to report all of them, without the steps that need the failed one; exits with
 * 1 if one failed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { steps } from './steps.mjs';

const cores = 2;
/** As many lines of a step that passed, and of one that failed. */
const keptLines = { passed: 6, failed: 400 };
const folder = process.env.TEST_REPORTS;

const waiting = new Set(steps);
const running = new Map();
const passed = new Set();
const failed = new Set();

for (;;) {
  startWhatFits();
  if (running.size === 0) break;
  const { step, status, seconds, lines } = await Promise.race(running.values());
  running.delete(step);
  (status === 0 ? passed : failed).add(step.name);
  const kept = lines.slice(-(status === 0 ? keptLines.passed : keptLines.failed));
  console.log(`\n${step.name}: ${seconds} s, status ${status}\n  ${kept.join('\n  ')}`);
  if (folder) {
    const row = JSON.stringify({ step: step.name, seconds, status });
    appendFileSync(join(folder, 'steps.jsonl'), `${row}\n`);
  }
}
for (const { name } of waiting) console.log(`${name}: did not run`);
process.exitCode = failed.size > 0 ? 1 : 0;

/** A step that does not fit holds up those after it, but for those that wait for the network. */
function startWhatFits() {
  let free = cores - [...running.keys()].reduce((total, step) => total + step.cores, 0);
  for (const step of waiting) {
    const { after = [] } = step;
    if (after.some((name) => failed.has(name))) continue;
    if (step.cores > free || !after.every((name) => passed.has(name))) {
      free = 0;
      continue;
    }
    free -= step.cores;
    waiting.delete(step);
    running.set(step, run(step));
  }
}

async function run(step) {
  const begin = performance.now();
  const child = spawn(step.run, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
  }
  const [status] = await once(child, 'close');
  const seconds = Math.round((performance.now() - begin) / 1_000);
  return { step, status, seconds, lines: text.trimEnd().split('\n') };
}
