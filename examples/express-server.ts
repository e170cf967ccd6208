/**
 * A server for an Express app, at half the cost of `app.listen()`: Express changes the prototype of
 * every request and response, which takes V8 more time than everything else that Express does.
 * Here they have the app's prototypes from the start (docs/internals/performance.md).
 */
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Express } from 'express';

/** Replaces `app.listen()`; for HTTPS pass the same two classes to `https.createServer`. */
export function createAppServer(app: Express): Server {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse<IncomingMessage> {}
  // Express documents these prototypes as extensible: `req.get`, `res.json` and the host's own
  // additions are inherited.
  app.request = Object.setPrototypeOf(AppRequest.prototype, app.request);
  app.response = Object.setPrototypeOf(AppResponse.prototype, app.response);
  return createServer({ IncomingMessage: AppRequest, ServerResponse: AppResponse }, app);
}
