/**
 * Prints what one call of each API costs in counts: `npx tsup && node bench/call-costs.mjs`. Cold
 * code costs by the number of calls, not of lines, so these figures show what a benchmark under
 * full load does not. `--only chat` selects rows, `--by-function` lists the functions, the most
 * called first.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { callCosts } from './lib/call-costs.mjs';

/** A young generation that no measurement fills, so that all that is allocated is still there. */
const flags = ['--expose-gc', '--min-semi-space-size=1024', '--max-semi-space-size=1024'];

if (globalThis.gc === undefined) {
  const args = [...flags, fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  process.exit(spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1);
}
const { values: args } = parseArgs({
  options: { only: { type: 'string', multiple: true }, 'by-function': { type: 'boolean' } },
});
const rows = await callCosts({ dist: new URL('../dist/', import.meta.url), only: args.only });
process.stdout.write(
  '| call | function calls | functions | promises | bytes |\n|---|---|---|---|---|\n',
);
for (const { name, functionCalls, functions, promises, bytes, called } of rows) {
  const cells = [name, functionCalls, functions, promises, bytes];
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
  if (args['by-function'] !== true) continue;
  for (const [which, count] of called) process.stdout.write(`  ${count} ${which}\n`);
}
