// suite: slow host
/** Sessions in place of keys, under every mount: the app's pages may call, other sites may not. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionStore } from '../../src/ports/keys/key-store.ts';
import { chatBody } from '../support/bodies.ts';
import { type UnmountedGateway, unmountedGateway } from '../support/mounted-gateway.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { ofThisNode } from '../support/sample.ts';
import { type Mount, mounts, type RunningMount } from './mounts.ts';

const cookie = 'theme=dark; sid=session-of-ada';
const sessions: SessionStore = {
  find: ({ headers }) =>
    headers.cookie === cookie
      ? {
          id: 'ada',
          group: 'chat',
          disabled: false,
          quota: [{ id: 'ada', period: 'total', limitNanos: 1_000_000_000n }],
        }
      : undefined,
};

describe.each(ofThisNode(mounts))('$name', (mount: Mount) => {
  let harness: UnmountedGateway;
  let host: RunningMount;

  beforeEach(async () => {
    harness = await unmountedGateway({ sessions });
    host = await mount.start(harness.gateway);
  });

  afterEach(async () => {
    await host.close();
    await harness.close();
    if (mount.body === 'json') await takeWarnings();
  });

  const post = async (
    headers: Readonly<Record<string, string>>,
    body: string | FormData | Buffer = JSON.stringify(chatBody),
  ): Promise<number> => {
    const url = `${host.origin}${host.base}/v1/chat/completions`;
    const response = await fetch(url, { method: 'POST', headers: { cookie, ...headers }, body });
    await response.arrayBuffer();
    return response.status;
  };

  it('a page of the app calls with the session of its user', async () => {
    const page = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };

    expect(await post(page)).toBe(200);
    expect(await harness.nextRecord()).toMatchObject({ keyId: 'ada', outcome: 'complete' });
    expect(JSON.stringify(harness.upstream.calls)).not.toContain('session-of-ada');
  });

  it('a form of another site spends nothing, in any encoding', async () => {
    const json = JSON.stringify(chatBody);
    const form = new FormData();
    form.set('model', json);
    const forms: readonly (readonly [
      Readonly<Record<string, string>>,
      string | FormData | Buffer,
    ])[] = [
      [{ 'content-type': 'text/plain' }, json],
      [
        { 'content-type': 'application/x-www-form-urlencoded' },
        new URLSearchParams({ a: json }).toString(),
      ],
      [{}, form],
      [{}, Buffer.from(json)],
    ];

    const statuses = [];
    for (const [type, body] of forms) {
      for (const from of [{}, { origin: 'https://evil.example' }, { origin: 'null' }]) {
        for (const site of [{}, { 'sec-fetch-site': 'cross-site' }]) {
          statuses.push(await post({ ...type, ...from, ...site }, body));
        }
      }
    }

    expect(new Set(statuses)).toEqual(new Set([401]));
    expect(harness.upstream.calls).toEqual([]);
    expect(harness.records).toEqual([]);
  });
});
