/** What every benchmark here does: contenders in processes of their own, load, CPU time per unit. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Pool } from 'undici';

export const rounds = Number(process.env.ROUNDS ?? 5);
const secret = 'bench-key-0123456789-0123456789-0123456789';

export async function forked(path, args) {
  const child = fork(new URL(path, import.meta.url), args);
  const [port] = await once(child, 'message');
  return { child, port };
}

async function usageOf(child) {
  child.send('usage');
  const [usage] = await once(child, 'message');
  return usage;
}

async function load(port, { requests, connections, events, padding = 600, native = false }) {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 });
  const body = JSON.stringify(native ? nativeCall(padding) : chatCall(padding, events));
  const path = native
    ? '/v1beta/models/bench-model:streamGenerateContent?alt=sse'
    : '/v1/chat/completions';
  const headers = {
    'content-type': 'application/json',
    ...(native ? { 'x-goog-api-key': secret } : { authorization: `Bearer ${secret}` }),
  };
  let left = requests;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const answer = await pool.request({ method: 'POST', path, headers, body });
      if (answer.statusCode !== 200)
        throw new Error(`${answer.statusCode} ${await answer.body.text()}`);
      await answer.body.dump({ limit: 10_000_000 });
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  await pool.close();
}

/** CPU of the contender, in µs per request or per event. */
async function measure({ child, port }, shape) {
  const before = await usageOf(child);
  await load(port, shape);
  const after = await usageOf(child);
  const micros = after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system;
  return micros / (shape.requests * (shape.events ?? 1));
}

/** The median of each contender, its rounds interleaved with the others'. */
export async function medians(contenders, shape) {
  const figures = contenders.map(() => []);
  for (const contender of contenders) await load(contender.port, shape);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, contender] of contenders.entries()) {
      figures[index].push(await measure(contender, { ...shape, ...contender.shape }));
    }
  }
  return figures.map((values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]);
}

function chatCall(padding, events) {
  return {
    model: 'bench-model',
    ...(events === undefined ? {} : { stream: true }),
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: 'y'.repeat(padding) },
    ],
  };
}

function nativeCall(padding) {
  return {
    systemInstruction: { parts: [{ text: 'You are a helpful assistant.' }] },
    contents: [{ role: 'user', parts: [{ text: 'y'.repeat(padding) }] }],
  };
}
