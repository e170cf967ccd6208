/** What every adapter promises, under every way of mounting it. */
import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takeWarnings } from '../support/process-warnings.ts';
import { type Mount, mounts, type RunningMount } from './mounts.ts';
import { echoOf, type ToyGateway, toyGateway } from './toy-gateway.ts';

// Precision that a parser loses, an escape it would undo, and odd spacing.
const exact = '{ "model":"m",  "n": 12345678901234567890, "t": 1.0, "u": "a\\/b" }';

describe.each(mounts)('$name', (mount: Mount) => {
  let gateway: ToyGateway;
  let host: RunningMount;

  beforeEach(async () => {
    gateway = toyGateway();
    host = await mount.start(gateway);
  });

  afterEach(async () => {
    await host.close();
    // Each start makes a new adapter, so each may warn; the body's own test looks at what it says.
    if (mount.body === 'json') await takeWarnings();
  });

  const url = (path: string): string => `${host.origin}${host.base}${path}`;
  const post = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(url(path), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
      ...init,
    });

  it('gives the gateway the path from the version on, raw, and the query', async () => {
    const response = await post('/v1beta/models/a%2Fb%3AgenerateContent?alt=sse&x=%20');

    expect(await response.json()).toMatchObject({
      method: 'POST',
      path: '/v1beta/models/a%2Fb%3AgenerateContent',
      search: 'alt=sse&x=%20',
    });
  });

  it('gives the gateway the body', async () => {
    const seen = echoOf(await (await post('/v1/chat/completions', { body: exact })).text());

    if (mount.body === 'bytes') {
      expect(seen.body).toBe(exact);
    } else {
      expect(JSON.parse(seen.body ?? '')).toEqual(JSON.parse(exact));
      expect(await takeWarnings()).toHaveLength(1);
    }
  });

  it('answers GET without a body', async () => {
    const response = await fetch(url('/v1/models'));

    expect(await response.json()).toMatchObject({ method: 'GET', path: '/v1/models' });
    expect(await takeWarnings()).toEqual([]);
  });

  it('answers HEAD with the head alone', async () => {
    const response = await fetch(url('/v1/models'), { method: 'HEAD' });

    expect(response.status).toBe(200);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(0);
    expect(await response.text()).toBe('');
  });

  it('passes each event on before the next one exists', async () => {
    const controller = new AbortController();
    const [response] = await Promise.all([
      post('/v1/stream', { signal: controller.signal }),
      write(gateway, 'data: 1\n\n'),
    ]);
    const reader = bodyOf(response);

    expect(await read(reader)).toBe('data: 1\n\n');
    await write(gateway, 'data: 2\n\n');
    expect(await read(reader)).toBe('data: 2\n\n');
    gateway.reply.end();
    expect(await read(reader)).toBeUndefined();
  });

  it('tells the gateway that the caller left before the answer, and drops the answer', async () => {
    const controller = new AbortController();
    const response = post('/v1/silent', { signal: controller.signal }).catch(() => 'left');
    await gateway.asked;

    controller.abort();
    await gateway.left;
    gateway.answer();

    expect(await response).toBe('left');
    await closing(gateway);
    expect(gateway.reply.destroyed).toBe(true);
  });

  it('tells the gateway that the caller left mid-stream, and destroys the stream', async () => {
    const controller = new AbortController();
    const [response] = await Promise.all([
      post('/v1/stream', { signal: controller.signal }),
      write(gateway, 'data: 1\n\n'),
    ]);
    await read(bodyOf(response));

    controller.abort();
    await gateway.left;

    await closing(gateway);
    expect(gateway.reply.destroyed).toBe(true);
  });

  it('cuts the connection where the reply breaks off', async () => {
    const [response] = await Promise.all([post('/v1/stream'), write(gateway, 'data: 1\n\n')]);
    const reader = bodyOf(response);
    await read(reader);

    gateway.reply.destroy(new Error('the upstream broke off'));

    await expect(read(reader)).rejects.toThrow();
  });

  it.runIf(mount.hostAnswers)('leaves every other path to the host', async () => {
    const others = ['/v1x/chat', '/V1/chat/completions', '/health'];
    const responses = await Promise.all(others.map((path) => post(path)));

    expect(responses.map((response) => response.headers.get('x-host'))).toEqual(
      others.map(() => 'yes'),
    );
  });

  it.runIf(mount.hostAnswers)('leaves OPTIONS to the host', async () => {
    const response = await fetch(url('/v1/chat/completions'), { method: 'OPTIONS' });

    expect(response.headers.get('content-type') ?? '').not.toContain('json');
  });

  it('does not serve an absolute-form target', async () => {
    const answer = await absoluteForm(host, '/v1/chat/completions');

    expect(answer).not.toContain('"path":"/v1/chat/completions"');
  });
});

type Reader = ReadableStreamDefaultReader<Uint8Array>;

function bodyOf(response: Response): Reader {
  if (response.body === null) throw new Error('a reply without a body');
  return response.body.getReader();
}

async function read(reader: Reader): Promise<string | undefined> {
  const { value } = await reader.read();
  return value === undefined ? undefined : Buffer.from(value).toString();
}

function write(gateway: ToyGateway, event: string): Promise<void> {
  return new Promise((resolve, reject) => {
    gateway.reply.write(event, (error) => (error ? reject(error) : resolve()));
  });
}

function closing({ reply }: ToyGateway): Promise<void> {
  if (reply.closed) return Promise.resolve();
  return new Promise((resolve) => reply.once('close', resolve));
}

/** What comes back for `POST http://evil.example/…`, as no client of ours would send it. */
function absoluteForm({ origin, base }: RunningMount, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(origin);
    const target = `http://evil.example${base}${path}`;
    request({ hostname, port, method: 'POST', path: target, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(text));
    })
      .on('error', reject)
      .end('{}');
  });
}
