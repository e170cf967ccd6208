/**
 * The metrics of `serve` for Prometheus, on a port of their own, so that callers can't read them.
 */
import { createServer, type RequestListener } from 'node:http';
import type { Gateway } from '../gateway.ts';
import { prometheusMetrics } from '../prometheus/prometheus-metrics.ts';
import type { PrometheusRegistry } from '../prometheus/registry.ts';
import { usageError } from './command.ts';
import type { ServeConfig } from './config/config.ts';
import type { Port } from './listen.ts';
import { construct, exported, hasMethods, loadPackage } from './packages.ts';

/** The part of prom-client's `Registry` that is used. */
interface Registry extends PrometheusRegistry {
  readonly contentType: string;
  metrics(): Promise<string>;
}

/**
 * The server of the metrics: the gateway's, and those of the process.
 *
 * @param folder in which prom-client is looked for first
 * @throws CommandError if prom-client is not installed
 */
export async function metricsPort(
  { port, host, path }: NonNullable<ServeConfig['metrics']>,
  gateway: Gateway,
  folder: string,
): Promise<Port> {
  const { content } = await loadPackage(['prom-client'], 'metrics', folder);
  const register = construct(exported(content, 'Registry'));
  const collect = exported(content, 'collectDefaultMetrics');
  if (!isRegistry(register) || typeof collect !== 'function') {
    throw usageError('metrics: the installed prom-client is too old. Run: npm install prom-client');
  }
  Reflect.apply(collect, undefined, [{ register }]);
  prometheusMetrics(gateway, { register });
  return { member: 'metrics', server: createServer(answering(register, path)), port, host };
}

function isRegistry(value: unknown): value is Registry {
  return hasMethods(value, 'registerMetric', 'getSingleMetric', 'removeSingleMetric', 'metrics');
}

function answering(register: Registry, path: string): RequestListener {
  return (request, response) => {
    const [target] = (request.url ?? '').split('?');
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (target !== path || !isRead) {
      return void response.writeHead(target === path ? 405 : 404).end();
    }
    void register.metrics().then(
      (text) =>
        response
          .writeHead(200, { 'content-type': register.contentType, 'cache-control': 'no-store' })
          .end(text),
      () => response.writeHead(500).end(),
    );
  };
}
