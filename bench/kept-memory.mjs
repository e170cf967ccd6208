/**
 * Fails if calls leave anything in memory above the bounds of the stores: `npx tsup && node
 * bench/kept-memory.mjs`. With bounds that a few hundred calls reach, memory must not grow from then
 * on.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { inProcessGateway } from './lib/in-process-gateway.mjs';
import { sampleCalls } from './lib/sample-calls.mjs';

/** Code that is compiled anew takes memory too, and would hide what a call leaves. */
const flags = ['--no-opt', '--no-maglev', '--no-lazy-feedback-allocation', '--no-flush-bytecode'];

if (globalThis.gc === undefined) {
  const args = [...flags, '--expose-gc', fileURLToPath(import.meta.url)];
  process.exit(spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1);
}
const dist = new URL('../dist/', import.meta.url);
/** One entry of a store takes ten times as much; the rest is the engine's own. */
const allowedBytes = 32;
const warmUpRounds = 600;
const measuredRounds = 400;

let number = 0;
/** Each reply has ids of its own, and each call a key for its repeats. */
function unique(call) {
  number += 1;
  const { type, bytes } = call.reply;
  const text = String(bytes).replaceAll('resp_1', `resp_${number}`);
  return {
    ...call,
    reply: { type, bytes: Buffer.from(text.replaceAll('msg_1', `msg_${number}`)) },
  };
}

async function runRounds(gateway, rounds) {
  for (let round = 0; round < rounds; round += 1) {
    for (const call of sampleCalls) {
      const isRepeatable = round % 2 === 0;
      await gateway.run(unique(call), isRepeatable ? { 'idempotency-key': `key-${number}` } : {});
    }
    const [refused] = sampleCalls;
    const secret = `wrong-${number}`;
    await gateway.run(
      { ...refused, status: 401 },
      { authorization: `Bearer ${secret}`, 'x-goog-api-key': secret },
    );
  }
}

function keptBytes() {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** The bounds that the calls of the first rounds reach. */
const small = (tollgate) => ({
  quota: tollgate.memoryQuotaStore({ maxEnded: 256 }),
  idempotency: tollgate.memoryIdempotencyStore({ maxRecords: 256 }),
  results: tollgate.memoryResultStore({ maxBytes: 65_536 }),
  responses: {
    index: tollgate.memoryResponseIndex({ maxEntries: 256 }),
    items: tollgate.memoryItemStore({ maxBytes: 65_536 }),
  },
});

const bounded = await inProcessGateway(dist, small);
await runRounds(bounded, warmUpRounds);
const before = keptBytes();
await runRounds(bounded, measuredRounds);
const left = (keptBytes() - before) / (measuredRounds * (sampleCalls.length + 1));
await bounded.close();
process.stdout.write(`above the bounds of its stores a call leaves ${left.toFixed(1)} bytes\n`);
if (left > allowedBytes) {
  process.stderr.write(`Only ${allowedBytes} are expected: something grows without a bound.\n`);
  process.exitCode = 1;
}
