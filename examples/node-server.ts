/** A gateway on bare `node:http`, with one route of the host. */
import { createServer, type Server } from 'node:http';
import type { Gateway } from 'tollgate';
import { nodeAdapter } from 'tollgate/node';

/** The host's server. Without a `next`, the gateway would answer every path. */
export function createApp(gateway: Gateway): Server {
  const serveGateway = nodeAdapter(gateway);
  return createServer((req, res) => {
    void serveGateway(req, res, () => {
      res.setHeader('content-type', 'application/json');
      res.statusCode = req.url === '/health' ? 200 : 404;
      res.end(JSON.stringify({ ok: req.url === '/health' }));
    });
  });
}
