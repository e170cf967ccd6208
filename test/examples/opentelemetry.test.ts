// suite: slow host
/** The example exports the spans and metrics of a call to a collector, over HTTP, as JSON. */
import { createServer } from 'node:http';
import { metrics, trace } from '@opentelemetry/api';
import { expect, it, onTestFinished, vi } from 'vitest';
import { traceGateway } from '../../examples/opentelemetry.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { chat, completeReply } from '../support/models.ts';
import { closed, listening } from '../support/servers.ts';

/** What the collector received, by path, as JSON. */
async function collector(): Promise<Readonly<Record<string, string>>> {
  const received: Record<string, string> = {};
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    received[request.url ?? ''] = JSON.stringify(JSON.parse(body));
    response.setHeader('content-type', 'application/json').end('{}');
  });
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', await listening(server));
  onTestFinished(() => closed(server));
  return received;
}

it('examples/opentelemetry sends a call to the collector, and no prompt', async () => {
  const received = await collector();
  const { gateway, call } = gatewayInProcess({ handlers: [completeReply('chat')] });
  const stop = traceGateway(gateway);
  onTestFinished(() => {
    trace.disable();
    metrics.disable();
  });

  await call(chat({ messages: [{ role: 'user', content: 'canary-prompt' }] }));
  await gateway.close();
  await stop();

  const { '/v1/traces': traces = '', '/v1/metrics': points = '' } = received;
  for (const text of [traces, points]) expect(text).toContain('{"stringValue":"my-app"}');
  expect(traces).toContain('"name":"chat chat"');
  expect(traces).toContain('"name":"tollgate.attempt"');
  expect(points).toContain('"name":"tollgate.charge"');
  expect(traces + points).not.toContain('canary');
});
