/**
 * One of the processes that are killed: a gateway on bare `node:http` over a shared store. A hold's
 * id begins with the number of its call, so that charges can be compared with the calls that ran.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer } from 'node:http';
import { createGateway, type KeyStore, staticCatalog } from 'tollgate';
import { nodeAdapter } from 'tollgate/node';
import { z } from 'zod';
import { chargesTwice } from '../proof/wrong-stores.ts';
import { closed, listening } from '../support/servers.ts';
import { openStore, placeSchema } from './databases.ts';
import { factWriter } from './facts.ts';
import { callerLimit, leaseMs, poolLimit } from './parameters.ts';
import { poolSubject, recordingQuotaStore } from './recording-store.ts';

const config = z
  .object({
    place: placeSchema,
    factsFile: z.string(),
    openaiBaseUrl: z.string(),
    settlesTwice: z.boolean(),
  })
  .parse(JSON.parse(process.argv[2] ?? ''));

/** The secret is the name of the caller; each caller has a quota of its own. */
const keys: KeyStore = {
  find: (secret) => ({
    id: secret,
    group: 'staff',
    disabled: false,
    quota: [
      { id: secret, period: 'total', limitNanos: callerLimit },
      { id: poolSubject, period: 'total', limitNanos: poolLimit },
    ],
  }),
};
const model = {
  id: 'm',
  vendor: 'Acme',
  protocols: ['chat'],
  groups: ['staff'],
  price: { per: 'token', rates: { input: 1_000_000n, output: 2_000_000n } },
  maxOutputTokens: 100,
  channels: [
    {
      id: 'first',
      dialect: 'openai',
      baseUrl: config.openaiBaseUrl,
      credential: 'account-secret',
      priority: 0,
      weight: 1,
    },
  ],
} as const;

const { store, usage } = await openStore(config.place);
const recorded = recordingQuotaStore(
  config.settlesTwice ? chargesTwice(store, process.pid) : store,
  factWriter(config.factsFile),
);
const calls = new AsyncLocalStorage<string>();
let ids = 0;
const gateway = createGateway({
  keys,
  quota: recorded,
  usage,
  catalog: staticCatalog([model]),
  leaseMs,
  ids: () => `${calls.getStore() ?? `process-${process.pid}-00000`}-${++ids}`,
});
const answer = nodeAdapter(gateway);
const server = createServer((request, response) => {
  calls.run(String(request.headers['x-call-number']), () => answer(request, response));
});

process.on('message', () => {
  void gateway.close({ drainMs: 5_000 }).then(async () => {
    await closed(server);
    process.exit();
  });
});
process.once('disconnect', () => process.exit());
process.send?.({ origin: await listening(server) });
