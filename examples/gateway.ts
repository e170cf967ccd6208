/**
 * The gateway that the example apps share: a model for text and one for embeddings of OpenAI and of
 * Google, and one key. Where a variable is not set the credential is `none`, which only the fake
 * upstream of the tests accepts: leave it empty in your app, so that start-up names the variable.
 */
import {
  createGateway,
  type Gateway,
  type IssuedKey,
  issueKey,
  memoryKeyStore,
  memoryQuotaStore,
  money,
  staticCatalog,
  tokenPrice,
} from 'tollgate';

/** The base URLs of the example's upstreams: the real ones, or a fake in a test. */
export interface Upstreams {
  readonly openaiBaseUrl: string;
  readonly geminiBaseUrl: string;
}

/** A gateway with memory stores, and a key for it. */
export function exampleGateway(upstreams: Upstreams): {
  readonly gateway: Gateway;
  readonly issued: IssuedKey;
} {
  const issued = issueKey({ group: 'staff', limitNanos: money('5'), period: 'month' });
  const text = {
    groups: ['staff'],
    price: tokenPrice({ input: '0.15', output: '0.60', cachedInput: '0.075' }),
    maxOutputTokens: 16_384,
  } as const;
  const embeddings = { groups: ['staff'], protocols: ['embeddings'] } as const;
  const gateway = createGateway({
    keys: memoryKeyStore({ keys: [issued] }),
    quota: memoryQuotaStore(),
    catalog: staticCatalog([
      {
        ...text,
        id: 'gpt-4o-mini',
        vendor: 'OpenAI',
        protocols: ['chat', 'messages', 'responses'],
        channels: [
          {
            id: 'openai',
            dialect: 'openai',
            baseUrl: upstreams.openaiBaseUrl,
            credential: process.env.OPENAI_API_KEY ?? 'none',
            priority: 1,
            weight: 1,
          },
        ],
      },
      {
        ...text,
        id: 'gemini-2.5-flash',
        vendor: 'Gemini',
        protocols: ['messages', 'native', 'responses'],
        channels: [
          {
            id: 'gemini',
            dialect: 'gemini',
            baseUrl: upstreams.geminiBaseUrl,
            credential: process.env.GEMINI_API_KEY ?? 'none',
            priority: 1,
            weight: 1,
          },
        ],
      },
      {
        ...embeddings,
        id: 'text-embedding-3-small',
        price: tokenPrice({ input: '0.02' }),
        channels: [
          {
            id: 'openai',
            dialect: 'openai',
            baseUrl: upstreams.openaiBaseUrl,
            credential: process.env.OPENAI_API_KEY ?? 'none',
          },
        ],
      },
      {
        ...embeddings,
        id: 'gemini-embedding-001',
        price: tokenPrice({ input: '0.15' }),
        channels: [
          {
            id: 'gemini',
            dialect: 'gemini',
            baseUrl: upstreams.geminiBaseUrl,
            credential: process.env.GEMINI_API_KEY ?? 'none',
          },
        ],
      },
    ]),
  });
  return { gateway, issued };
}
