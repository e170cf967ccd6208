// suite: slow host
/** `examples/rolling-server.ts` serves calls until balancers had time to notice that it stops. */
import { get } from 'node:http';
import { expect, it, onTestFinished, vi } from 'vitest';
import { exampleGateway } from '../../examples/gateway.ts';
import { rollingServer } from '../../examples/rolling-server.ts';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { closed, listening } from '../support/servers.ts';

it('is alive and not ready while it stops, and serves until the notice is over', async () => {
  const upstream = await startStrictUpstream();
  onTestFinished(() => upstream.close());
  const { gateway, issued } = exampleGateway(upstream);
  const { server, stop } = rollingServer(gateway, { noticeMs: 5_000, drainMs: 1_000 });
  const origin = await listening(server);
  onTestFinished(() => {
    server.closeAllConnections();
  });
  const headers = { authorization: `Bearer ${issued.secret}`, connection: 'close' };
  const statuses = (): Promise<readonly number[]> =>
    Promise.all(
      ['/healthz', '/readyz', '/v1/models', '/elsewhere'].map((path) =>
        statusOf(`${origin}${path}`, headers),
      ),
    );
  expect(await statuses()).toEqual([200, 200, 200, 404]);

  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const stopped = stop();

  expect(stop()).toBe(stopped);
  expect(await statuses()).toEqual([200, 503, 200, 404]);
  vi.advanceTimersByTime(5_000);
  await stopped;
  await expect(statusOf(`${origin}/readyz`, headers)).rejects.toThrow('ECONNREFUSED');
});

it('is not ready once something else closes the gateway', async () => {
  const upstream = await startStrictUpstream();
  onTestFinished(() => upstream.close());
  const { gateway } = exampleGateway(upstream);
  const { server } = rollingServer(gateway, { noticeMs: 5_000, drainMs: 1_000 });
  const origin = await listening(server);
  onTestFinished(() => closed(server));
  const headers = { connection: 'close' };
  expect(await statusOf(`${origin}/readyz`, headers)).toBe(200);

  await gateway.close();

  expect(await statusOf(`${origin}/readyz`, headers)).toBe(503);
  expect(await statusOf(`${origin}/healthz`, headers)).toBe(200);
});

function statusOf(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).once('error', reject);
  });
}
