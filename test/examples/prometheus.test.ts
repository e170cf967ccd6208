// suite: slow
/** `examples/prometheus.ts` serves the metrics of a gateway, and nothing else. */
import { expect, it, onTestFinished } from 'vitest';
import { exampleGateway } from '../../examples/gateway.ts';
import { metricsServer } from '../../examples/prometheus.ts';
import { rollingServer } from '../../examples/rolling-server.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { closed, listening } from '../support/servers.ts';

it('counts a call, and names neither its key nor its prompt', async () => {
  const upstream = await startStrictUpstream();
  onTestFinished(() => upstream.close());
  const { gateway, issued } = exampleGateway(upstream);
  onTestFinished(() => gateway.close());
  const { server } = rollingServer(gateway, { noticeMs: 0, drainMs: 0 });
  const metrics = metricsServer(gateway);
  onTestFinished(() => closed(server));
  onTestFinished(() => closed(metrics));
  const calls = await listening(server);
  const scrapes = await listening(metrics);

  const reply = await fetch(`${calls}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${issued.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-4o-mini',
      messages: [{ role: 'user', content: 'canary-prompt' }],
    }),
  });
  const [scrape, other] = await Promise.all([
    fetch(`${scrapes}/metrics`),
    fetch(`${scrapes}/v1/models`),
  ]);
  const text = await scrape.text();

  expect(reply.status).toBe(200);
  expect(scrape.headers.get('content-type')).toContain('text/plain');
  expect(text).toMatch(/^tollgate_calls_total\{.*model="gpt-4o-mini".*\} 1$/m);
  expect(text).not.toMatch(new RegExp(`canary|${issued.secret}`));
  expect(other.status).toBe(404);
});
