/**
 * A host that shuts down on SIGTERM as the README says, with a gateway full of calls. It never
 * calls `process.exit`: it exits when nothing is left to run. The test, and not the clock, ends its
 * grace period.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { nodeAdapter } from 'tollgate/node';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { type Clock, systemClock } from '../../src/clock.ts';
import { createGateway } from '../../src/gateway.ts';
import { issueKey } from '../../src/issue-key.ts';
import { defaultPartition } from '../../src/ports/limits/quota-input.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import { channel, model } from '../support/models.ts';
import { listening } from '../support/servers.ts';
import { turns } from './ports/failing.ts';

const [, , baseUrl = ''] = process.argv;
const drainMs = 60_000;
const real = systemClock();
const clock: Clock = {
  ...real,
  every: (intervalMs, tick) => {
    const stop = real.every(intervalMs, tick);
    if (intervalMs !== drainMs) return stop;
    process.once('message', tick);
    return () => {
      stop();
      process.removeListener('message', tick);
    };
  },
};
const { secret, key } = issueKey({ id: 'caller', group: 'staff', limitNanos: 1_000_000_000n });
const quota = memoryQuotaStore();
const usage = memoryUsageSink();
const channels = [channel({ baseUrl })];
const rows = [{ nanos: 500n }];
const gateway = createGateway({
  keys: memoryKeyStore({ keys: [{ secret, key }] }),
  quota,
  usage,
  clock,
  catalog: staticCatalog([
    model({ channels }),
    model({ id: 'image', protocols: ['images'], price: { per: 'image', rows }, channels }),
  ]),
});
const server = createServer(nodeAdapter(gateway));

process.once('SIGTERM', () => void stop());
process.send?.({ origin: await listening(server), secret });

async function stop(): Promise<void> {
  const serverClosed = once(server, 'close');
  server.close();
  const gatewayClosed = gateway.close({ drainMs });
  process.send?.('closing');
  await gatewayClosed;
  server.closeIdleConnections();
  setTimeout(() => server.closeAllConnections(), 1_000).unref();
  await serverClosed;
  // A socket that is closed goes away at the end of its turn of the event loop.
  await turns();
  const state = await quota.read('caller', '', defaultPartition);
  process.send?.({
    heldNanos: String(state?.held),
    inFlight: state?.inFlight,
    records: usage.records.length,
    // The only pipe left is the one to the test.
    resources: process.getActiveResourcesInfo().filter((name) => name !== 'PipeWrap'),
  });
}
