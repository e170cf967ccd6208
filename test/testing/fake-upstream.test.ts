// suite: slow host
/** The fake upstream plays scripts and records calls. */
import { request } from 'node:http';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gate, hang, json, raw, reset, sse } from '../../src/testing/providers/scripts.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/providers/server.ts';
import { collect, hello, post, weatherTool } from './helpers.ts';

let upstream: FakeUpstream;
let openai: OpenAI;
let google: GoogleGenAI;

beforeEach(async () => {
  upstream = await startFakeUpstream();
  openai = new OpenAI({ baseURL: upstream.openaiBaseUrl, apiKey: 'sk-test', maxRetries: 0 });
  google = new GoogleGenAI({ apiKey: 'test', httpOptions: { baseUrl: upstream.origin } });
});

afterEach(() => upstream.close());

describe('scripts', () => {
  it('are played in order, one per call, before recorded traffic', async () => {
    upstream.enqueue(json(418, { first: true }), { body: 'second' });

    const first = await post(upstream, '/anything', {});
    const second = await post(upstream, '/anything', {});
    const third = await post(upstream, '/anything', {});

    expect([first.status, second.status, third.status]).toEqual([418, 200, 404]);
    expect(await first.json()).toEqual({ first: true });
    expect(await second.text()).toBe('second');
  });

  it('wait at a gate, so that a test receives each piece separately', async () => {
    const go = gate();
    const done = gate();
    upstream.enqueue(sse([{ piece: 1 }, go.opened, { piece: 2 }, done.opened, '[DONE]']));

    const response = await post(upstream, '/v1/chat/completions', {});
    const reader = response.body?.getReader();
    const first = await reader?.read();
    go.open();
    const second = await reader?.read();
    done.open();
    const third = await reader?.read();

    expect(Buffer.from(first?.value ?? []).toString()).toBe('data: {"piece":1}\n\n');
    expect(Buffer.from(second?.value ?? []).toString()).toBe('data: {"piece":2}\n\n');
    expect(Buffer.from(third?.value ?? []).toString()).toBe('data: [DONE]\n\n');
  });

  it('can send an error in a separate write, where an SDK expects it', async () => {
    const go = gate();
    const event = { candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] } }] };
    const error = { error: { code: 503, message: 'Overloaded', status: 'UNAVAILABLE' } };
    const { chunks = [], ...head } = sse([event, go.opened], '\r\n');
    upstream.enqueue({ ...head, chunks: [...chunks, JSON.stringify(error)] });

    const stream = await google.models.generateContentStream({ model: 'm', contents: 'x' });
    const first = await stream.next();
    go.open();

    expect(first.value?.text).toBe('Hi');
    await expect(stream.next()).rejects.toMatchObject({ status: 503 });
  });

  it('delay the status line with waitFor', async () => {
    const go = gate();
    upstream.enqueue({ ...json(200, {}), waitFor: go.opened });

    let answered = false;
    const pending = post(upstream, '/v1/x', {}).then((response) => {
      answered = true;
      return response;
    });
    const call = await upstream.nextCall();
    // A whole round trip of another call is enough time for a reply that is not delayed.
    await (await post(upstream, '/v1/y', {})).text();
    expect(answered).toBe(false);
    go.open();

    expect((await pending).status).toBe(200);
    expect(await call.closed).toBe('ended');
  });

  it('reset or hang before a reply', async () => {
    upstream.enqueue(reset(), hang());
    await expect(post(upstream, '/', {})).rejects.toThrow('fetch failed');

    const controller = new AbortController();
    const hanging = post(upstream, '/', {}, { signal: controller.signal });
    await upstream.nextCall();
    const call = await upstream.nextCall();
    controller.abort();

    await expect(hanging).rejects.toThrow('aborted');
    expect(await call.closed).toBe('aborted');
    expect(call.aborted).toBe(true);
  });

  it.each([
    'reset',
    'close',
  ] as const)('%s after the pieces, which counts as ended', async (ending) => {
    upstream.enqueue({ ...sse([{ piece: 1 }]), ending });

    const response = await post(upstream, '/', {});
    const call = await upstream.nextCall();

    await expect(response.text()).rejects.toThrow('terminated');
    expect(await call.closed).toBe('ended');
    expect(call.aborted).toBe(false);
  });

  it('read from a generator no faster than the caller reads', async () => {
    let drawn = 0;
    function* endless(): Generator<Uint8Array> {
      for (; ; drawn++) yield Buffer.alloc(1024 * 1024);
    }
    upstream.enqueue({ chunks: endless() });

    const response = await post(upstream, '/', {});
    const call = await upstream.nextCall();
    await response.body?.cancel();

    expect(await call.closed).toBe('aborted');
    expect(drawn).toBeLessThan(64);
  });

  it('are paced by paceMs', async () => {
    const paced = await startFakeUpstream({ paceMs: 1 });
    const client = new OpenAI({ baseURL: paced.openaiBaseUrl, apiKey: 'k' });

    const stream = await client.chat.completions.create({
      model: 'm',
      messages: hello,
      stream: true,
    });
    const chunks = await collect(stream);
    await paced.close();

    expect(chunks).toHaveLength(12);
  });

  it('write the bare socket, for what is no HTTP', async () => {
    upstream.enqueue(raw('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'), raw('rubbish'));

    const well = await post(upstream, '/', {});
    const text = await well.text();

    expect(text).toBe('ok');
    await expect(post(upstream, '/', {})).rejects.toThrow('fetch failed');
  });

  it('that cannot be sent are reported to the caller', async () => {
    upstream.enqueue({ headers: { 'bad name': 'x' } });

    const response = await post(upstream, '/', {});

    expect(response.status).toBe(500);
    expect(await response.text()).toContain("can't play this script");
  });
});

describe('a host that responds itself', () => {
  it('has each call with the right key for which no script is queued', async () => {
    const seen: string[] = [];
    const own = await startFakeUpstream({
      apiKey: 'sk-right',
      respond: (call) => {
        seen.push(call.path);
        return JSON.stringify(call.json()).includes('forbidden') ? json(422, {}) : undefined;
      },
    });
    const send = async (path: string, content: string, key = 'sk-right') => {
      const body = { model: 'm', messages: [{ role: 'user', content }] };
      const headers = { authorization: `Bearer ${key}` };
      return (await post(own, path, body, { headers })).status;
    };

    const chat = '/v1/chat/completions';
    const refused = await send(chat, 'forbidden');
    const left = await send(`${chat}?a=1`, 'allowed');
    const stranger = await send(chat, 'forbidden', 'sk-wrong');
    own.enqueue(json(418, {}));
    const queued = await send(chat, 'forbidden');
    await own.close();

    expect([refused, left, stranger, queued]).toEqual([422, 200, 401, 418]);
    expect(seen).toEqual([chat, `${chat}?a=1`]);
  });
});

describe('what it saw', () => {
  it('is each call as sent, by connection', async () => {
    await openai.chat.completions.create({ model: 'm', messages: hello });
    await (await post(upstream, '/v1/x?a=1&a=2', { b: 1 }, { headers: { 'X-Odd': 'yes' } })).text();

    const [first, second] = upstream.calls;
    expect(first?.json()).toEqual({ model: 'm', messages: hello });
    expect(first?.headers.authorization).toBe('Bearer sk-test');
    expect(second).toMatchObject({ method: 'POST', path: '/v1/x?a=1&a=2' });
    expect(second?.body.toString()).toBe('{"b":1}');
    expect(second?.rawHeaders).toContain('yes');
    expect(first?.connectionId).toBe(1);
  });

  it('includes a call whose upload broke off, which gets no script', async () => {
    upstream.enqueue(json(200, { kept: true }));
    const upload = request(`${upstream.origin}/v1/x`, {
      method: 'POST',
      headers: { 'content-length': 100 },
    });
    upload.on('error', () => {});
    upload.write('half', () => upload.destroy());

    const call = await upstream.nextCall();
    const next = await post(upstream, '/v1/x', {});

    expect(await call.closed).toBe('aborted');
    expect(await next.json()).toEqual({ kept: true });
  });

  it('is forgotten by reset, which also breaks off what is being answered', async () => {
    upstream.enqueue(hang(), json(418, {}));
    const hanging = post(upstream, '/', {});
    const call = await upstream.nextCall();

    upstream.reset();

    await expect(hanging).rejects.toThrow('fetch failed');
    expect(await call.closed).toBe('ended');
    expect(upstream.calls).toEqual([]);
    expect((await post(upstream, '/', {})).status).toBe(404);
  });

  it('is the same again after a reset', async () => {
    const request = { model: 'm', messages: hello, tools: [weatherTool] };
    const first = await (await post(upstream, '/v1/chat/completions', request)).text();
    upstream.reset();
    const second = await (await post(upstream, '/v1/chat/completions', request)).text();

    expect(second).toBe(first);
  });

  it('ends with close: no socket stays open, and waiting for a call fails', async () => {
    const closing = await startFakeUpstream();
    const waiting = closing.nextCall();
    closing.enqueue(hang());
    const hanging = fetch(closing.origin);
    await waiting;
    const never = closing.nextCall();

    const reported = expect(never).rejects.toThrow('was closed');
    const broken = expect(hanging).rejects.toThrow('fetch failed');
    expect(closing.openConnections()).toBe(1);
    await closing.close();

    await reported;
    await broken;
    expect(closing.openConnections()).toBe(0);
    await expect(fetch(closing.origin)).rejects.toThrow('fetch failed');
  });
});
