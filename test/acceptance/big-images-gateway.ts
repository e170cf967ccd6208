/**
 * The process that `big-images.test.ts` measures: a gateway on bare `node:http`, and nothing else
 * that could use memory or block the event loop.
 */
import { createServer } from 'node:http';
import {
  createGateway,
  issueKey,
  type Model,
  memoryKeyStore,
  memoryQuotaStore,
  staticCatalog,
} from 'tollgate';
import { nodeAdapter } from 'tollgate/node';
import { mountedModels } from '../support/mounted-models.ts';
import { listening } from '../support/servers.ts';

const [, , openaiBaseUrl = '', geminiBaseUrl = '', credential = ''] = process.argv;

/** The same image from an upstream of another dialect. */
const drawing: Model = {
  id: 'gemini-image-48mb',
  vendor: 'Google',
  protocols: ['images'],
  groups: ['image'],
  price: { per: 'image', rows: [{ nanos: 1_000_000n }] },
  channels: [
    {
      id: 'gemini-1',
      dialect: 'gemini',
      baseUrl: geminiBaseUrl,
      credential,
      priority: 0,
      weight: 1,
    },
  ],
};
const { secret, key } = issueKey({ group: 'image', limitNanos: 1_000_000_000_000n });
const gateway = createGateway({
  keys: memoryKeyStore({ keys: [{ secret, key }] }),
  quota: memoryQuotaStore(),
  catalog: staticCatalog([...mountedModels({ openaiBaseUrl, geminiBaseUrl }, credential), drawing]),
});
/** The bytes sent in one turn of the event loop, and their maximum. */
let bytesInTurn = 0;
let mostInTurn = 0;
const turn = (): void => {
  mostInTurn = Math.max(mostInTurn, bytesInTurn);
  bytesInTurn = 0;
  setImmediate(turn);
};
setImmediate(turn);

const adapter = nodeAdapter(gateway);
const server = createServer((request, response) => {
  const write = response.write.bind(response);
  response.write = (chunk: Uint8Array, ...rest: never[]): boolean => {
    bytesInTurn += chunk.length;
    return write(chunk, ...rest);
  };
  void adapter(request, response);
});
const origin = await listening(server);

process.on('message', () => {
  process.send?.({
    // Since the start, in KiB.
    peakRssBytes: process.resourceUsage().maxRSS * 1024,
    mostBytesInTurn: mostInTurn,
  });
});
process.once('disconnect', () => process.exit());
process.send?.({ origin, secret });
