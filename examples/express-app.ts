/** A gateway in an Express app with its own routes, headers and body parser. */
import express, { type Express } from 'express';
import type { Gateway } from 'tollgate';
import { expressAdapter, expressErrorHandler } from 'tollgate/express';

/** The host app: its own routes work as before. */
export function createApp(gateway: Gateway): Express {
  const app = express();
  // Before body parsers, so that bodies are forwarded unchanged and the gateway's limits apply.
  app.use(expressAdapter(gateway));
  app.use(express.json());
  app.get('/health', (_req, res) => {
    res.json({ ok: true });
  });
  // A second mount, after the parser: the parser's errors are written in the caller's dialect.
  app.use('/llm', expressAdapter(gateway), expressErrorHandler(gateway));
  return app;
}
