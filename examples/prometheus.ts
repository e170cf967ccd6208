/**
 * Metrics of a gateway for Prometheus, on a server of their own: they show models, channels and
 * money, and must not be on the port of the callers.
 */
import { createServer, type Server } from 'node:http';
import { Registry } from 'prom-client';
import type { Gateway } from 'tollgate';
import { prometheusMetrics } from 'tollgate/prometheus';

/** A server with `/metrics` alone. Listen on an address that only your monitoring reaches. */
export function metricsServer(gateway: Gateway): Server {
  // Your own Registry may have other metrics too, such as those of `collectDefaultMetrics`.
  const register = new Registry();
  prometheusMetrics(gateway, { register });
  return createServer(async (req, res) => {
    if (req.url !== '/metrics') {
      res.writeHead(404).end();
      return;
    }
    try {
      const text = await register.metrics();
      res.writeHead(200, { 'content-type': register.contentType }).end(text);
    } catch {
      res.writeHead(500).end();
    }
  });
}
