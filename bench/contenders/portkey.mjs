/**
 * Portkey's gateway, started by its own entry point inside this process; it must be given a port.
 */
import { createServer } from 'node:net';
import { measured } from './measured.mjs';

async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

async function untilAnswering(port) {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer !== undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('Portkey did not answer on its port.');
}

const port = await freePort();
process.argv.push(`--port=${port}`, '--headless');
await import('@portkey-ai/gateway/build/start-server.js');
await untilAnswering(port);
await measured({ port });
