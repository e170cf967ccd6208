/**
 * Row F80: the library twice in one process, as an ES module and as CommonJS, each used with parts
 * of the other; and the changes to the process afterwards.
 */
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { createServer as createNetServer } from 'node:net';
import { Readable } from 'node:stream';

const prototypes: readonly object[] = [
  Object.prototype,
  Array.prototype,
  Function.prototype,
  Promise.prototype,
  Error.prototype,
  Buffer.prototype,
  Readable.prototype,
  Object.getPrototypeOf(createServer()),
  Object.getPrototypeOf(createNetServer()),
  globalThis,
];

const before = seen();
const esm = await import(['.', 'copy', 'index.mjs'].join('/'));
const cjs = createRequire(import.meta.url)('./copy/index.cjs');
const adapters = createRequire(import.meta.url)('./copy/node.cjs');

const statuses: number[] = [];
const codes: unknown[] = [];
for (const [own, other] of [
  [esm, cjs],
  [cjs, esm],
]) {
  const { secret, key } = other.issueKey({ group: 'staff', limitNanos: 1_000_000n });
  const gateway = own.createGateway({
    keys: other.memoryKeyStore({ keys: [{ secret, key }] }),
    quota: other.memoryQuotaStore(),
    catalog: other.staticCatalog([]),
  });
  const server = createServer(adapters.nodeAdapter(gateway));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  for (const authorization of [`Bearer ${secret}`, 'Bearer nobody']) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/models`, {
      headers: { authorization, connection: 'close' },
    });
    statuses.push(response.status);
    await response.arrayBuffer();
  }
  try {
    other.createGateway({});
  } catch (error) {
    codes.push(error instanceof Error ? error.name : undefined);
  }
  await gateway.close();
  await new Promise((resolve) => server.close(resolve));
}

process.send?.({ statuses, codes, before, after: seen() });

/** Everything that a library could change in a process, without zod's own registry. */
function seen(): object {
  const names = prototypes.map((holder) =>
    Object.getOwnPropertyNames(holder)
      .filter((name) => !name.startsWith('__zod_'))
      .sort(),
  );
  const listeners = process
    .eventNames()
    .map((name) => `${String(name)} ${process.listenerCount(name)}`)
    .sort();
  return { names, listeners };
}
