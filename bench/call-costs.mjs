/**
 * Prints what one call of each API costs in counts: `npx tsup && node bench/call-costs.mjs`. Cold
 * code costs by the number of calls, not of lines, so these figures show what a benchmark under
 * full load does not. `--only chat` selects rows, `--by-function` lists the functions, the most
 * called first, `--write` writes `call-costs.json`, with which `--compare` compares.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { callCosts } from './lib/call-costs.mjs';

/**
 * Optimized code allocates less, but not the same in each run. The young generation is so large that
 * no measurement fills it: all that is allocated is still there.
 */
const flags = [
  ...['--no-opt', '--no-maglev', '--expose-gc'],
  ...['--min-semi-space-size=1024', '--max-semi-space-size=1024'],
];
/** A figure may differ from the committed one by this share. */
const allowedChange = 0.03;
const figures = ['functionCalls', 'promises', 'bytes'];

if (globalThis.gc === undefined) {
  const args = [...flags, fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  process.exit(spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1);
}
const { values: args } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    'by-function': { type: 'boolean' },
    write: { type: 'boolean' },
    compare: { type: 'boolean' },
  },
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

const table = new URL('call-costs.json', import.meta.url);
/** Other versions of V8 allocate other amounts. */
const node = process.versions.node.split('.')[0];
if (args.write === true) {
  const calls = rows.map((row) => [row.name, Object.fromEntries(figures.map((f) => [f, row[f]]))]);
  const text = JSON.stringify({ node, calls: Object.fromEntries(calls) }, undefined, 2);
  writeFileSync(table, `${text}\n`);
}
if (args.compare === true) process.exitCode = compare(JSON.parse(readFileSync(table, 'utf8')));

/** Prints what has changed; returns the exit code. */
function compare(known) {
  if (known.node !== node) {
    process.stdout.write(`Not compared: the table is of Node ${known.node}.\n`);
    return 0;
  }
  const changes = rows.flatMap((row) =>
    figures
      .map((figure) => [figure, known.calls[row.name]?.[figure] ?? 0, row[figure]])
      .filter(([, before, now]) => Math.abs(now - before) > before * allowedChange)
      .map(([figure, before, now]) => `${row.name}: ${figure} ${before} -> ${now}`),
  );
  if (changes.length === 0) return 0;
  process.stderr.write(
    `${changes.join('\n')}\nIf that is meant, run \`node bench/call-costs.mjs --write\`, ` +
      'and state the change in the message of the commit.\n',
  );
  return 1;
}
