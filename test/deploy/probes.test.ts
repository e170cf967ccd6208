// suite: slow host
/** Each probe of the Deployment asks for a path that `serve` answers. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { healthHandler } from '../../src/command/serve/serve.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { at, objectOf } from './files.ts';

const container = at(objectOf('Deployment'), 'spec', 'template', 'spec', 'containers', '0');

it.each([
  ['startupProbe', 200],
  ['livenessProbe', 200],
  ['readinessProbe', 503],
] as const)('%s passes, and answers %i while the process ends', async (name, whileEnding) => {
  const get = at(container, name, 'httpGet');

  expect(at(get, 'port')).toBe('calls');
  expect(await statusAt(String(at(get, 'path')), false)).toBe(200);
  expect(await statusAt(String(at(get, 'path')), true)).toBe(whileEnding);
});

async function statusAt(path: string, isEnding: boolean): Promise<number> {
  const quota = { check: async () => ({ ok: true as const }) };
  const handler = healthHandler({
    ...{ quota, clock: fakeClock() },
    asksStores: () => false,
    isEnding: () => isEnding,
  });
  const server = createServer(handler).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = Object(server.address());
  const { status } = await fetch(`http://127.0.0.1:${port}${path}`);
  return status;
}
