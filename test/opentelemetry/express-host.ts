/**
 * A host with Express and OpenTelemetry's instrumentations of `http` and Express, which change the
 * modules of their process. The parent process calls it, and requests the spans by a message.
 */
import { createRequire } from 'node:module';
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { ExpressInstrumentation } from '@opentelemetry/instrumentation-express';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { createGateway, memoryKeyStore, memoryQuotaStore, staticCatalog } from 'tollgate';
import { expressAdapter } from 'tollgate/express';
import { openTelemetry } from 'tollgate/opentelemetry';
import { z } from 'zod';

const config = z
  .object({ baseUrl: z.string(), secret: z.string() })
  .parse(JSON.parse(process.argv[2] ?? ''));

const exporter = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({
  spanProcessors: [new SimpleSpanProcessor(exporter)],
});
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
trace.setGlobalTracerProvider(tracerProvider);
registerInstrumentations({
  tracerProvider,
  instrumentations: [new HttpInstrumentation(), new ExpressInstrumentation()],
});

// Required after that, as a host does with `--import ./instrumentation.js`.
const require = createRequire(import.meta.url);
const http: typeof import('node:http') = require('node:http');
const express: typeof import('express') = require('express');

const quota = [{ id: 'staff-key', period: 'total', limitNanos: 1_000_000_000n }] as const;
const key = { id: 'staff-key', group: 'staff', disabled: false, quota };
const channel = { dialect: 'openai', credential: 'secret', weight: 1 } as const;
const gateway = createGateway({
  keys: memoryKeyStore({ keys: [{ secret: config.secret, key }] }),
  quota: memoryQuotaStore(),
  catalog: staticCatalog([
    {
      id: 'gpt-4o-mini',
      vendor: 'OpenAI',
      protocols: ['chat'],
      groups: ['staff'],
      price: { per: 'token', rates: { input: 1_000_000n, output: 1_000_000n } },
      maxOutputTokens: 100,
      channels: [
        { ...channel, id: 'first', priority: 0, baseUrl: `${config.baseUrl}/first` },
        { ...channel, id: 'second', priority: 1, baseUrl: `${config.baseUrl}/second` },
      ],
    },
  ]),
});
openTelemetry(gateway);

const app = express();
app.use('/llm', expressAdapter(gateway));
app.get('/health', (_request, response) => {
  response.json({ ok: true });
});
const server = http.createServer(app);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  process.send?.({ origin: `http://127.0.0.1:${port}` });
});
process.once('disconnect', () => process.exit());
process.on('message', () => {
  process.send?.({
    spans: exporter.getFinishedSpans().map((span) => ({
      name: span.name,
      kind: span.kind,
      id: span.spanContext().spanId,
      trace: span.spanContext().traceId,
      parent: span.parentSpanContext?.spanId,
      attributes: span.attributes,
      events: span.events.map(({ name, attributes }) => ({ name, attributes })),
    })),
  });
});
