// suite: slow host
/** Behaviour that depends on the mount: parsers before the gateway, and paths of the host. */
import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ScriptedGateway, scriptedGateway } from '../../src/testing/contracts/adapter.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { echoedBody, echoOf } from './echo.ts';
import { type Mount, mounts, type RunningMount } from './mounts.ts';

// Precision that a parser loses, an escape it would undo, and odd spacing.
const exact = '{ "model":"m",  "n": 12345678901234567890, "t": 1.0, "u": "a\\/b" }';

describe.each(mounts)('$name', (mount: Mount) => {
  let gateway: ScriptedGateway;
  let host: RunningMount;

  beforeEach(async () => {
    gateway = scriptedGateway();
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

  it('passes the body to the gateway', async () => {
    const response = await post('/v1/chat/completions', { body: exact });
    const body = echoedBody(echoOf(await response.text()));

    if (mount.body === 'bytes') {
      expect(body).toBe(exact);
    } else {
      expect(JSON.parse(body)).toEqual(JSON.parse(exact));
      expect(await takeWarnings()).toHaveLength(1);
    }
  });

  it('answers GET without a body', async () => {
    const response = await fetch(url('/v1/models'));

    expect(await response.json()).toMatchObject({ method: 'GET', path: '/v1/models' });
    expect(await takeWarnings()).toEqual([]);
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

  it.runIf(!mount.isWeb)('does not serve an absolute-form target', async () => {
    const answer = await absoluteForm(host, '/v1/chat/completions');

    expect(answer).not.toContain('"path":"/v1/chat/completions"');
  });

  // RFC 9112 §3.2.2 asks servers to accept it, and a Web request shows nothing else.
  it.runIf(mount.isWeb)('serves the path of an absolute-form target', async () => {
    const answer = await absoluteForm(host, '/v1/chat/completions');

    expect(answer).toContain('"path":"/v1/chat/completions"');
  });
});

/** The response to `POST http://evil.example/…`, which no proper client sends. */
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
