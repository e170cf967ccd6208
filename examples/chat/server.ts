/** A chat page in an Express app: its users talk to a model by their session, without a key. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import express, { type Express } from 'express';
import type { Gateway, GatewayOptions } from 'tollgate';
import { expressAdapter } from 'tollgate/express';
import { gatewayWithSessions } from '../session-keys.ts';

/** Serves the page at `/`, the sign-in, and the gateway at `/v1`. */
export function chatApp(options: GatewayOptions): {
  readonly app: Express;
  readonly gateway: Gateway;
} {
  // Your app has sessions and a sign-in of its own.
  const users = new Map<string, { readonly id: string; readonly plan: string }>();
  const gateway = gatewayWithSessions(options, { userOf: async (id) => users.get(id) });

  const app = express();
  app.use(expressAdapter(gateway));
  app.get('/sign-in', (_req, res) => {
    const sessionId = randomUUID();
    users.set(sessionId, { id: 'ada', plan: 'pro' });
    res.cookie('sid', sessionId, { httpOnly: true, sameSite: 'lax', secure: true }).redirect('/');
  });
  app.use(express.static(join(import.meta.dirname, 'page')));
  return { app, gateway };
}
