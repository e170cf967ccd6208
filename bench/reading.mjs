/**
 * Times what reading a request of 40 KB costs, beside one `JSON.parse` of it: `node
 * bench/reading.mjs`. The strict scan comes first; the readers (fields, size of the prompt, members
 * that cost, references) then go over its tape, and may take half of what the parser takes.
 */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { agentBodies } from './lib/agent-bodies.mjs';

const mostOfParse = 0.5;
const rounds = 3000;
/** Other programs make a run slower, never faster. */
const quantile = 0.1;

const source = `
  export { wholeBody } from './src/bytes/body/body.ts';
  export { scanBody } from './src/bytes/json/scan/body.ts';
  export { operations } from './src/apis.ts';
  export { protocols } from './src/protocols/table.ts';
`;
const root = fileURLToPath(new URL('..', import.meta.url));
const outfile = `${root}.build/reading.mjs`;
await build({
  stdin: { contents: source, resolveDir: root, loader: 'ts' },
  ...{ bundle: true, format: 'esm', platform: 'node', packages: 'external', outfile },
});
const { wholeBody, scanBody, operations, protocols } = await import(outfile);

function microseconds(run) {
  const times = Array.from({ length: rounds }, () => {
    const begin = process.hrtime.bigint();
    run();
    return Number(process.hrtime.bigint() - begin) / 1000;
  });
  return times.sort((a, b) => a - b)[Math.floor(rounds * quantile)];
}

process.stdout.write('| body | KB | JSON.parse µs | scan µs | readers µs | readers / parse |\n');
process.stdout.write('|---|--:|--:|--:|--:|--:|\n');
for (const [name, bytes] of Object.entries(agentBodies)) {
  const protocol = protocols[name.split(',')[0]];
  const target = { operation: operations.content, modelId: undefined, framing: 'sse' };
  const parse = microseconds(() => JSON.parse(bytes.toString('utf8')));
  const scan = microseconds(() => scanBody(wholeBody(bytes)));
  const tape = scanBody(wholeBody(bytes));
  const read = microseconds(() => protocol.read(tape, target, {}));
  const cells = [bytes.length / 1000, parse, scan, read, read / parse].map((n) => n.toFixed(2));
  process.stdout.write(`| ${[name, ...cells].join(' | ')} |\n`);
  if (read > mostOfParse * parse) process.exitCode = 1;
}
