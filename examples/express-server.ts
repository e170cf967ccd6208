/**
 * A server for an Express app, at half the cost of `app.listen()`: Express changes the prototype of
 * every request and response, which V8 takes more time for than for all else that Express does.
 * Here they have the app's prototypes from the start (docs/performance.md).
 */
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Express } from 'express';

/** Instead of `app.listen()`; for HTTPS give the same two classes to `https.createServer`. */
export function createAppServer(app: Express): Server {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse<IncomingMessage> {}
  // Documented as the app's to extend: `req.get`, `res.json` and what the host added stay below.
  app.request = Object.setPrototypeOf(AppRequest.prototype, app.request);
  app.response = Object.setPrototypeOf(AppResponse.prototype, app.response);
  return createServer({ IncomingMessage: AppRequest, ServerResponse: AppResponse }, app);
}
