// suite: slow
/** A Web request whose body the host has read or locked is the host's error, not the caller's. */
import { fetchAdapter } from 'tollgate/fetch';
import { describe, expect, it } from 'vitest';
import { callerSecret, gatewayInProcess } from '../support/gateway-in-process.ts';
import { takeWarnings } from '../support/process-warnings.ts';

const authorized = { authorization: `Bearer ${callerSecret}`, 'content-type': 'application/json' };
const chatBody = '{"model":"chat","messages":[{"role":"user","content":"hi"}]}';

/** What a host may do with a body before the gateway reads it. */
const consumptions: readonly (readonly [string, (request: Request) => unknown])[] = [
  ['is being read', (request) => void request.text()],
  ['has been read', (request) => request.text()],
  ['was cancelled', (request) => request.body?.cancel()],
  ['is locked by a reader', (request) => void request.body?.getReader()],
  ['is locked by a reader that has read', (request) => request.body?.getReader().read()],
  ['was read in part', readInPart],
  ['was split', (request) => void request.body?.tee()],
  ['is piped', (request) => void request.body?.pipeThrough(new TransformStream())],
  ['was handed to another request', (request) => void new Request(request)],
];

async function readInPart(request: Request): Promise<void> {
  const reader = request.body?.getReader();
  await reader?.read();
  reader?.releaseLock();
}

const notReadable = {
  error: { type: 'server_error', message: 'The request body could not be read.' },
};

function post(body: string): Request {
  const url = 'https://app.example/v1/chat/completions';
  return new Request(url, { method: 'POST', headers: authorized, body });
}

describe('a body', () => {
  it.each(consumptions)('that %s is an error of the host, with one warning', async (_how, take) => {
    const { gateway, upstream, events } = gatewayInProcess();
    const handler = fetchAdapter(gateway);
    for (let call = 0; call < 2; call += 1) {
      const request = post(chatBody);
      await take(request);

      const response = await handler(request);

      expect(response.status).toBe(500);
      expect(await response.json()).toMatchObject(notReadable);
    }
    expect(events).toMatchObject([{ type: 'body_consumed' }, { type: 'body_consumed' }]);
    const codes = (await takeWarnings()).map((warning) => Reflect.get(warning, 'code'));
    expect(codes).toEqual(['TOLLGATE_BODY_CONSUMED']);
    expect(upstream.calls).toEqual([]);
  });

  it.each(
    consumptions,
  )('that %s while the key is looked up is an error of the host too', async (_how, take) => {
    const requests: Request[] = [];
    const { gateway, events, upstream } = gatewayInProcess({
      options: {
        keys: {
          find: async () => {
            for (const request of requests) await take(request);
            const quota = [{ id: 'caller', period: 'total', limitNanos: 1_000n }] as const;
            return { id: 'caller', group: 'staff', disabled: false, quota };
          },
        },
      },
    });
    const request = post(chatBody);
    requests.push(request);

    const response = await fetchAdapter(gateway)(request);

    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject(notReadable);
    expect(events).toMatchObject([{ type: 'body_consumed' }]);
    expect(await takeWarnings()).toHaveLength(1);
    expect(upstream.calls).toEqual([]);
  });
});
