// suite: search host
/**
 * Under every mount, paths of provider APIs that are not served get 404 in the format of the
 * clients that call them, and everything else stays the host's.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type UnmountedGateway, unmountedGateway } from '../support/mounted-gateway.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { type Mount, mounts, type RunningMount } from './mounts.ts';

/** Paths as the clients of the providers call them. */
const unservedPaths: readonly string[] = [
  '/v1/responses/resp_1/cancel',
  '/v1/moderations',
  '/v1/completions',
  '/v1/audio/speech',
  '/v1/audio/transcriptions',
  '/v1/files',
  '/v1/files/file-1/content',
  '/v1/batches/batch_1',
  '/v1/uploads/upload_1/parts',
  '/v1/images/edits',
  '/v1/images/variations',
  '/v1/videos/video_1',
  '/v1/assistants',
  '/v1/threads/thread_1/runs',
  '/v1/conversations/conv_1/items',
  '/v1/vector_stores/vs_1/search',
  '/v1/fine_tuning/jobs',
  '/v1/chat/completions/chatcmpl_1/messages',
  '/v1/realtime/client_secrets',
  '/v1/containers',
  '/v1/dashboard/billing/usage',
  '/v1/evals',
  '/v1/skills',
  '/v1/messages/x',
  '/v1/messages/batches',
  '/v1/complete',
  '/v1beta/files',
  '/v1beta/cachedContents/c1',
  '/v1beta/openai/chat/completions',
  '/v1beta/corpora/c/documents',
];

/** Methods of models that Google has and the gateway does not serve. */
const unservedMethods: readonly string[] = [
  '/v1beta/models/m:embedText',
  '/v1beta/models/m:asyncBatchEmbedContent',
  '/v1beta/models/m:predict',
  '/v1beta/tunedModels/t:transferOwnership',
  '/v1/models/m:embedText',
];

/** Paths that no provider has: the host answers them. */
const hostPaths: readonly string[] = [
  '/v1/files-of-the-host',
  '/v1/engines/gpt/completions',
  '/v1/organizations',
  '/v1/users',
  '/v1/dashboard',
  '/v1/responsesx',
];

/** As clients with a wrong base URL call them, and what they mean. */
const misplacedPaths: readonly (readonly [path: string, intended: string])[] = [
  ['/chat/completions', '/v1/chat/completions'],
  ['/v1/v1/chat/completions', '/v1/chat/completions'],
  ['/responses', '/v1/responses'],
  ['/messages', '/v1/messages'],
  ['/v1/v1/messages', '/v1/messages'],
  ['/embeddings', '/v1/embeddings'],
  ['/images/generations', '/v1/images/generations'],
  ['/models/m:generateContent', '/v1beta/models/{model}:generateContent'],
];

const clients = [
  { headers: {}, error: openai },
  { headers: { authorization: 'Bearer wrong' }, error: openai },
  { headers: { 'x-goog-api-key': 'wrong' }, error: gemini },
  { headers: { 'x-api-key': 'wrong' }, error: anthropic },
  {
    headers: { authorization: 'Bearer wrong', 'anthropic-version': '2023-06-01' },
    error: anthropic,
  },
] as const;

type Client = (typeof clients)[number];
const methods = ['POST', 'GET', 'DELETE', 'PUT'] as const;
/** Every client with every path, or, in rotation, one of them. */
const isFull = process.env.TEST_FORM === 'full';

describe.each(mounts)('$name', (mount: Mount) => {
  let harness: UnmountedGateway;
  let host: RunningMount;

  async function mounted(options: Parameters<typeof unmountedGateway>[0] = {}): Promise<void> {
    harness = await unmountedGateway(options);
    host = await mount.start(harness.gateway);
  }

  afterEach(async () => {
    await host.close();
    await harness.close();
    if (mount.body === 'json') await takeWarnings();
  });

  function send(path: string, method: string, headers: Record<string, string>): Promise<Response> {
    const hasBody = method === 'POST' || method === 'PUT';
    return fetch(`${host.origin}${host.base}${path}`, {
      method,
      headers: { ...headers, ...(hasBody ? { 'content-type': 'application/json' } : {}) },
      ...(hasBody ? { body: '{"model":"chat-1","input":"hi"}' } : {}),
    });
  }

  /** Hono's `mount` takes the prefix out of the URL. */
  const prefix = (): string => (/app\.mount/.test(mount.name) ? '' : host.base);

  describe('with the default options', () => {
    beforeEach(() => mounted());

    it('refuses every such path in the format of its clients', async () => {
      for (const [index, path] of unservedPaths.entries()) {
        const chosen = isFull ? clients : [clients[index % clients.length], clients[0]];
        for (const client of chosen) {
          if (client === undefined) continue;
          const method = methods[index % methods.length] ?? 'GET';
          const response = await send(path, method, { ...client.headers });

          expect([path, response.status, response.headers.get('x-host')]).toEqual([
            path,
            404,
            null,
          ]);
          expect(await response.json(), path).toEqual(errorOf(path, client));
          expect(response.headers.get('vary')).toContain(
            'authorization, x-api-key, x-vendor-api-key, x-goog-api-key, anthropic-version',
          );
        }
      }
      expect(harness.upstream.calls).toEqual([]);
      expect(harness.records).toEqual([]);
    });

    it.runIf(mount.hostAnswers)('leaves every other path to the host', async () => {
      for (const path of hostPaths) {
        const response = await send(path, 'POST', { authorization: 'Bearer wrong' });

        expect([path, response.status, response.headers.get('x-host')]).toEqual([path, 404, 'yes']);
      }
    });

    it('names the right path to a base URL without its version, below a prefix', async () => {
      // Mounted at the versions, the gateway never gets the first kind, and serves the second.
      const isAtVersions = /\/v1 and|nested|in routes/.test(mount.name);
      for (const [path, intended] of misplacedPaths) {
        if (isAtVersions && path.startsWith('/v1/')) continue;
        const response = await send(path, 'POST', { authorization: 'Bearer wrong' });

        const isHosts = isAtVersions || (mount.hostAnswers && host.base === '');
        expect([path, response.status]).toEqual([path, 404]);
        expect([path, response.headers.get('x-host')]).toEqual([path, isHosts ? 'yes' : null]);
        expect(await response.text()).toMatch(
          isHosts ? /^host/ : `Did you mean ${prefix()}${intended}?`,
        );
      }
    });

    it('names the right path to a base URL that has the path of a call', async () => {
      for (const path of ['/v1/chat/completions/chat/completions', '/v1/messages/v1/messages']) {
        const response = await send(path, 'POST', { authorization: 'Bearer wrong' });

        expect([path, response.status]).toEqual([path, 404]);
        expect(await response.text()).toContain(
          `Set the client's base URL to end in ${prefix()}/v1.`,
        );
      }
    });

    it('says at its root that it runs, where the root is not the host’s', async () => {
      const isAtVersions = /\/v1 and|nested|in routes/.test(mount.name);
      const response = await send('/v1', 'GET', {});

      // Fastify has no route for the prefix of a registration itself.
      const isRouted = isAtVersions && !/^Fastify/.test(mount.name);
      const isHosts = mount.hostAnswers && host.base === '' && !isRouted;
      expect([response.status, response.headers.get('x-host')]).toEqual(
        isHosts ? [404, 'yes'] : [200, null],
      );
      expect(await response.text()).toContain(isHosts ? 'host' : 'The gateway runs.');
    });

    it('ignores one trailing slash on the paths that it serves', async () => {
      const key = { authorization: `Bearer ${harness.secrets.chat}` };
      const list = await send('/v1/models/', 'GET', key);
      const one = await send('/v1/models/chat-1/', 'GET', key);
      const wrong = await send('/v1/chat/completions/', 'GET', key);
      const native = await send('/v1beta/models/', 'GET', {
        'x-goog-api-key': harness.secrets.native,
      });

      expect([list.status, one.status, wrong.status, native.status]).toEqual([200, 200, 405, 200]);
      expect(await list.json()).toMatchObject({ object: 'list' });
      expect(await one.json()).toMatchObject({ id: 'chat-1' });
      expect(wrong.headers.get('allow')).toBe('POST');
    });
  });

  describe('with `unserved: "pass"`', () => {
    beforeEach(() => mounted({ unserved: 'pass' }));

    it.runIf(mount.hostAnswers)('leaves every such path to the host', async () => {
      for (const path of [...unservedPaths, ...unservedMethods]) {
        const response = await send(path, 'POST', {});

        expect([path, response.status, response.headers.get('x-host')]).toEqual([path, 404, 'yes']);
      }
      const served = await send('/v1/models', 'GET', {
        authorization: `Bearer ${harness.secrets.chat}`,
      });
      expect(served.status).toBe(200);
      const named = await send('/v1beta/models/m:free', 'GET', {});
      expect([named.status, named.headers.get('x-host')]).toEqual([401, null]);
    });

    it.runIf(!mount.hostAnswers)('refuses it where no host answers', async () => {
      const response = await send('/v1/moderations', 'POST', {});

      expect(response.status).toBe(404);
      expect(await response.json()).toEqual(openai('/v1/moderations'));
    });
  });
});

/** The path decides where only one provider has it. */
function errorOf(path: string, { error }: Client): object {
  if (path.startsWith('/v1beta')) return gemini();
  return /^\/v1\/(?:messages|complete$)/.test(path) ? anthropic() : error(path);
}

/** What is served, or what clients of the path can do instead. */
const served =
  '(?:This gateway serves POST /v1/chat/completions, POST /v1/images/generations, |' +
  'Files are not stored: send |Batches are not offered: send )';

function openai(_path?: string): object {
  return {
    error: {
      message: expect.stringMatching(new RegExp(` is not served here\\. ${served}`)),
      type: 'invalid_request_error',
      param: null,
      code: 'unknown_url',
    },
  };
}

function gemini(_path?: string): object {
  const message = expect.stringMatching(served);
  return { error: { code: 404, message, status: 'NOT_FOUND' } };
}

function anthropic(_path?: string): object {
  return {
    type: 'error',
    error: { type: 'not_found_error', message: expect.stringMatching(served) },
    request_id: expect.stringMatching(/^[\w-]{16,}$/),
  };
}
