/** A gateway in an Express app that has routes, headers and a body parser of its own. */
import express, { type Express } from 'express';
import type { Gateway } from 'tollgate';
import { expressAdapter, expressErrorHandler } from 'tollgate/express';

/** The host app: its own routes go on as before. */
export function createApp(gateway: Gateway): Express {
  const app = express();
  // Before body parsers, so that requests go up byte for byte and with the gateway's own limits.
  app.use(expressAdapter(gateway));
  app.use(express.json());
  app.get('/health', (_req, res) => {
    res.json({ ok: true });
  });
  // A second mount under a prefix, behind the parser: the parser's errors speak the dialect too.
  app.use('/llm', expressAdapter(gateway), expressErrorHandler(gateway));
  return app;
}
