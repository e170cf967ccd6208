/** A server for rolling deploys: readiness, liveness, and an orderly stop (docs/deploying.md). */
import { createServer, type Server } from 'node:http';
import type { Gateway } from 'tollgate';
import { nodeAdapter } from 'tollgate/node';

/** How long the steps of a stop take, in ms. */
export interface StopTimes {
  /** How long calls are still served although `/readyz` says 503, so that balancers notice. */
  readonly noticeMs: number;
  /** How long running calls may go on after that. */
  readonly drainMs: number;
}

/** The server, and how it stops. */
export interface RollingServer {
  readonly server: Server;
  /** Resolves when every call has ended and is booked. A second call returns the same promise. */
  stop(): Promise<void>;
}

/** The host's server over its gateway. Start to listen once the tables are migrated and checked. */
export function rollingServer(gateway: Gateway, times: StopTimes): RollingServer {
  const serveGateway = nodeAdapter(gateway);
  let stopping: Promise<void> | undefined;
  const server = createServer((req, res) => {
    void serveGateway(req, res, () => {
      // Liveness checks only that the event loop runs: an outage of a store must restart nothing.
      const isKnown = req.url === '/healthz' || req.url === '/readyz';
      const isServing = stopping === undefined && !gateway.status().isClosing;
      const isReady = req.url === '/healthz' || isServing;
      res.statusCode = isKnown ? (isReady ? 200 : 503) : 404;
      res.end();
    });
  });

  async function stop(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, times.noticeMs));
    server.close();
    await gateway.close({ drainMs: times.drainMs });
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), 1_000).unref();
  }

  return {
    server,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}
