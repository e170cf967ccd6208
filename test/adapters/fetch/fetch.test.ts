// suite: slow
/** Web requests and responses: what the gateway sees of a request, and what is never touched. */
import fc from 'fast-check';
import { fetchAdapter } from 'tollgate/fetch';
import { describe, expect, it } from 'vitest';
import type { GatewayHandler, GatewayRequest, GatewayResponse } from '../../../src/http.ts';
import { scriptedGateway } from '../../../src/testing/contracts/adapter.ts';
import { untyped } from '../../stages/ports/failing.ts';
import { callerSecret, gatewayInProcess } from '../../support/gateway-in-process.ts';
import { completeReply, replies } from '../../support/models.ts';
import { takeWarnings } from '../../support/runner/process-warnings.ts';
import { echoedBody, echoOf } from '../echo.ts';

const origin = 'https://app.example';
const chatUrl = `${origin}/v1/chat/completions`;
const authorized = { authorization: `Bearer ${callerSecret}`, 'content-type': 'application/json' };
const chatBody = '{"model":"chat","messages":[{"role":"user","content":"hi"}]}';

describe('the path', () => {
  it.each([
    ['/v1/models', {}, '/v1/models', ''],
    ['/v1/models?', {}, '/v1/models', ''],
    ['/v1/models?x=1?2&y=https://a/v1', {}, '/v1/models', 'x=1?2&y=https://a/v1'],
    ['/v1/models#a?b', {}, '/v1/models', ''],
    ['/v1beta/models/a%2Fb%3Ac:go', {}, '/v1beta/models/a%2Fb%3Ac:go', ''],
    ['/llm/v1/models?a', { basePath: '/llm' }, '/v1/models', 'a'],
    ['/llmv1/models', { basePath: '/llm' }, '', ''],
    ['/v1/models', { basePath: '/llm' }, '', ''],
    ['/other/v1/models', {}, '/other/v1/models', ''],
    ['', {}, '/', ''],
    // Resolved before the adapter sees it, as the documentation says.
    ['/v1/x/../models', {}, '/v1/models', ''],
    ['/v1/x/%2e%2e/models', {}, '/v1/models', ''],
  ] as const)('of %j with %j is %j, and the query %j', async (url, options, path, search) => {
    const { gateway, requests } = recording();

    await fetchAdapter(gateway, options)(new Request(`${origin}${url}`));

    expect(requests).toMatchObject([{ path, search }]);
  });

  it('is that of the URL, in every URL', async () => {
    const urls = fc.webUrl({ withQueryParameters: true, withFragments: true, size: 'medium' });
    await fc.assert(
      fc.asyncProperty(urls, async (url) => {
        const { gateway, requests } = recording();

        await fetchAdapter(gateway)(new Request(url));

        const { pathname, search } = new URL(url);
        expect(requests).toMatchObject([{ path: pathname, search: search.slice(1) }]);
      }),
      { numRuns: 60 },
    );
  });

  it('is the gateway’s if owns() says so; OPTIONS never is', () => {
    const handler = fetchAdapter(gatewayInProcess().gateway, { basePath: '/llm' });
    const owns = (path: string, method = 'POST'): boolean =>
      handler.owns(new Request(`${origin}${path}`, { method }));

    expect(owns('/llm/v1/chat/completions')).toBe(true);
    expect(owns('/llm/v1/models?x', 'GET')).toBe(true);
    expect(owns('/llm/v1/chat/completions', 'OPTIONS')).toBe(false);
    expect(owns('/v1/chat/completions')).toBe(false);
    expect(owns('/llm/health')).toBe(false);
    expect(handler.owns(untyped({ url: chatUrl })())).toBe(false);
  });
});

describe('the headers', () => {
  it('reach the gateway by name and in a list', async () => {
    const { gateway, requests } = recording();

    await fetchAdapter(gateway)(
      new Request(chatUrl, { headers: { 'X-Api-Key': 'a', 'Content-Type': 'text/plain' } }),
    );

    expect(requests).toMatchObject([
      {
        headers: { 'x-api-key': 'a', 'content-type': 'text/plain' },
        rawHeaders: ['content-type', 'text/plain', 'x-api-key', 'a'],
      },
    ]);
  });

  it('two keys count as none', async () => {
    const headers = new Headers(authorized);
    headers.append('authorization', authorized.authorization);

    const response = await fetchAdapter(gatewayInProcess().gateway)(
      new Request(chatUrl, { method: 'POST', headers, body: chatBody }),
    );

    expect(response.status).toBe(401);
  });
});

describe('the body of a request', () => {
  it('arrives with its exact bytes, in any pieces', async () => {
    const handler = fetchAdapter(scriptedGateway());
    const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(pieces, async (chunks) => {
        const response = await handler(streaming(chatUrl, chunks).request);

        const sent = Buffer.concat(chunks).toString('base64');
        expect(echoOf(await response.text()).body).toBe(sent);
      }),
      { numRuns: 100 },
    );
  });

  it('is not touched if the key is refused', async () => {
    const { request, pulled, cancelled } = streaming(chatUrl, [chatBody], { authorization: 'x' });
    let touched = 0;
    const watched = new Proxy(request, {
      get: (target, name) => {
        if (name === 'body') touched += 1;
        const value = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });

    const response = await fetchAdapter(gatewayInProcess().gateway)(watched);

    expect(response.status).toBe(401);
    expect([touched, pulled(), cancelled()]).toEqual([0, 0, 0]);
  });

  it('is read no further than its limit', async () => {
    const { gateway } = gatewayInProcess({ options: { maxBodyBytes: 100_000 } });
    const chunk = Buffer.alloc(10_000, ' ');
    const { request, pulled } = streaming(chatUrl, Array(1_000).fill(chunk));

    const response = await fetchAdapter(gateway)(request);

    expect(response.status).toBe(413);
    // Up to the limit, and what a stream reads ahead.
    expect(pulled()).toBeLessThan(30);
  });

  it('may be absent', async () => {
    const { gateway } = gatewayInProcess();

    const response = await fetchAdapter(gateway)(
      new Request(chatUrl, { method: 'POST', headers: authorized }),
    );

    expect(response.status).toBe(400);
  });

  it('of chunks that are not bytes is refused or read as text', async () => {
    const odd = [undefined, 5, {}, true, [], new ArrayBuffer(2), new DataView(new ArrayBuffer(2))];
    const chunks = fc.array(fc.constantFrom(...odd, '', ' ', new Uint8Array()), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(chunks, async (pieces) => {
        const body = new ReadableStream({
          start: (controller) => {
            for (const piece of pieces) controller.enqueue(piece);
            controller.close();
          },
        });

        const response = await fetchAdapter(gatewayInProcess().gateway)(post(body));

        expect(response.status).toBe(400);
      }),
      { numRuns: 60 },
    );
  });

  it('that breaks off is not a call', async () => {
    const gateway = gatewayInProcess();
    const broken = new ReadableStream({
      start: (controller) => controller.enqueue(Buffer.from(chatBody)),
      pull: (controller) => controller.error('gone'),
    });

    const response = await fetchAdapter(gateway.gateway)(post(broken));

    expect(response.status).toBe(400);
    expect(gateway.upstream.calls).toEqual([]);
    expect(await gateway.state()).toEqual({ held: 0n, used: 0n, inFlight: 0 });
  });

  it('may be read from a clone', async () => {
    const request = post(chatBody);

    const response = await fetchAdapter(scriptedGateway())(request.clone());

    expect(echoedBody(echoOf(await response.text()))).toBe(chatBody);
    expect(await request.text()).toBe(chatBody);
  });
});

describe('the response', () => {
  it('has the status, headers and bytes of the gateway', async () => {
    const { gateway } = gatewayInProcess({ handlers: [completeReply('chat')] });

    const response = await fetchAdapter(gateway)(post(chatBody));

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('content-length')).toBe(String(replies.chat.length));
    expect(await response.text()).toBe(replies.chat);
  });

  it('to HEAD and with status 204 has no body', async () => {
    const handler = fetchAdapter(gatewayInProcess().gateway);

    const head = await handler(
      new Request(`${origin}/v1/models`, { method: 'HEAD', headers: authorized }),
    );
    const options = await handler(new Request(chatUrl, { method: 'OPTIONS' }));

    expect([head.status, head.body, options.status, options.body]).toEqual([200, null, 204, null]);
    expect(Number(head.headers.get('content-length'))).toBeGreaterThan(0);
    expect(options.headers.get('allow')).toBe('POST');
  });
});

describe('what is not a request', () => {
  const hostile = new Proxy({}, { get: () => throwing() });
  const mistakes = {
    nothing: undefined,
    null: null,
    'a number': 5,
    'a text': chatUrl,
    'an object': {},
    'a request of node:http': { url: '/v1/models', method: 'GET', headers: {}, on: () => {} },
    'a context of Hono': { req: { raw: new Request(chatUrl) }, env: {} },
    'an object that throws': hostile,
  };

  it.each(Object.entries(mistakes))('is answered with 500: %s', async (_what, mistake) => {
    const response = await fetchAdapter(gatewayInProcess().gateway)(untyped(mistake)());

    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { type: 'server_error' } });
    await takeWarnings();
  });

  it('warns once, and names the remedy', async () => {
    const handler = fetchAdapter(gatewayInProcess().gateway);

    await handler(untyped({})());
    await handler(untyped({})());

    const warnings = await takeWarnings();
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('In Hono, pass c.req.raw.'),
    ]);
  });
});

describe('a wrapper of the gateway that', () => {
  const streamed = scriptedGateway();
  const stream: GatewayResponse = {
    status: 200,
    headers: {},
    body: { sendTo: () => {}, readable: () => streamed.reply },
  };
  const wrappers: Readonly<Record<string, () => unknown>> = {
    throws: throwing,
    rejects: () => Promise.reject(new Error('broken')),
    'answers nothing': () => Promise.resolve(undefined),
    'answers without a body': () => Promise.resolve({ status: 200, headers: {} }),
    'answers an impossible status': () => Promise.resolve({ ...stream, status: 99 }),
    'answers an impossible header': () => Promise.resolve({ ...stream, headers: { 'a b': '1' } }),
  };

  it.each(Object.entries(wrappers))('%s gets 500', async (_how, handle) => {
    const gateway = { ...gatewayInProcess().gateway, handle: untyped(handle)() };

    const response = await fetchAdapter(gateway)(post(chatBody));

    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { type: 'server_error' } });
  });

  it('answers an impossible header leaves no stream open', () => {
    expect(streamed.reply.destroyed).toBe(true);
  });

  it('can’t even refuse gets 500 without a body', async () => {
    const gateway = { ...gatewayInProcess().gateway, handle: throwing, refuse: throwing };

    const response = await fetchAdapter(gateway)(post(chatBody));

    expect([response.status, response.body]).toEqual([500, null]);
  });
});

function throwing(): never {
  throw new Error('broken');
}

/** A gateway that notes the requests it gets. */
function recording(): {
  readonly gateway: GatewayHandler;
  readonly requests: readonly GatewayRequest[];
} {
  const requests: GatewayRequest[] = [];
  const handle = async (request: GatewayRequest): Promise<GatewayResponse> => {
    requests.push(request);
    return { status: 200, headers: {}, body: new Uint8Array() };
  };
  return { gateway: { ...scriptedGateway(), handle }, requests };
}

function post(body: string | ReadableStream): Request {
  return new Request(chatUrl, { method: 'POST', headers: authorized, body, duplex: 'half' });
}

/** A request whose body counts what is done with it. */
function streaming(
  url: string,
  chunks: readonly (string | Uint8Array)[],
  headers: Readonly<Record<string, string>> = authorized,
): {
  readonly request: Request;
  readonly pulled: () => number;
  readonly cancelled: () => number;
} {
  let pulled = 0;
  let cancelled = 0;
  const body = new ReadableStream(
    {
      pull: (controller) => {
        const chunk = chunks[pulled];
        pulled += 1;
        if (chunk === undefined) controller.close();
        else controller.enqueue(Buffer.from(chunk));
      },
      cancel: () => {
        cancelled += 1;
      },
    },
    { highWaterMark: 0 },
  );
  const request = new Request(url, { method: 'POST', headers, body, duplex: 'half' });
  return { request, pulled: () => pulled, cancelled: () => cancelled };
}
