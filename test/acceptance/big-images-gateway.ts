/**
 * The process that `big-images.test.ts` measures: a gateway on bare `node:http`, and nothing else
 * that could use memory or hold up the event loop.
 */
import { createServer } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import {
  createGateway,
  issueKey,
  type Model,
  memoryKeyStore,
  memoryQuotaStore,
  staticCatalog,
} from 'tollgate';
import { nodeAdapter } from 'tollgate/node';
import { listening } from '../support/servers.ts';
import { stageModels } from '../support/stage-models.ts';

const [, , openaiBaseUrl = '', geminiBaseUrl = '', credential = ''] = process.argv;
const resolutionMs = 10;

/** The same picture from an upstream of another dialect. */
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
  catalog: staticCatalog([...stageModels({ openaiBaseUrl, geminiBaseUrl }, credential), drawing]),
});
const origin = await listening(createServer(nodeAdapter(gateway)));
const delay = monitorEventLoopDelay({ resolution: resolutionMs });
delay.enable();

process.on('message', () => {
  process.send?.({
    // Both since the start: KiB, and nanoseconds with the sampling interval in them.
    peakRssBytes: process.resourceUsage().maxRSS * 1024,
    longestStallMs: delay.max / 1e6 - resolutionMs,
  });
});
process.once('disconnect', () => process.exit());
process.send?.({ origin, secret });
