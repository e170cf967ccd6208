/** The gateway that all routes of a Next.js process share. */
import {
  createGateway,
  type Gateway,
  issueKey,
  memoryKeyStore,
  memoryQuotaStore,
  money,
  staticCatalog,
  tokenPrice,
} from 'tollgate';
import { sessionStore } from './sessions';

declare global {
  var tollgateGateway: Gateway | undefined;
}

/**
 * The gateway, created at the first call and not when the module is loaded: `next build` loads it
 * too. It is kept on `globalThis`, because Next.js loads this module once for each router, and
 * again with every change during development.
 */
export function gateway(): Gateway {
  globalThis.tollgateGateway ??= create();
  return globalThis.tollgateGateway;
}

function create(): Gateway {
  const issued = issueKey({ group: 'staff', limitNanos: money('5') });
  const secret = process.env.TOLLGATE_KEY ?? issued.secret;
  return createGateway({
    keys: memoryKeyStore({ keys: [{ ...issued, secret }] }),
    sessions: sessionStore,
    quota: memoryQuotaStore(),
    catalog: staticCatalog([
      {
        id: 'gpt-4o-mini',
        groups: ['staff'],
        price: tokenPrice({ input: '0.15', output: '0.60' }),
        channels: [
          {
            id: 'openai',
            dialect: 'openai',
            baseUrl: process.env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1',
            credential: process.env.OPENAI_API_KEY ?? 'none',
          },
        ],
      },
    ]),
  });
}
