// suite: slow host
/**
 * Members with unusual characters in their names, under every mount. The names of members that were
 * left out are in a header, where a line break would begin another header and other characters end
 * the call.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { chatBody } from '../support/bodies.ts';
import { type UnmountedGateway, unmountedGateway } from '../support/mounted-gateway.ts';
import { exchangeRaw, rawRequest } from '../support/raw-http.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { ofThisNode } from '../support/sample.ts';
import { type Mount, mounts, type RunningMount } from './mounts.ts';

const injected = 'x-injected: yes';
const breaks = ['\r\n', '\n', '\r', '\r\n\r\n', '\u0085', '\u2028', '\0', '\t', '\u007f'];

/** The names as JSON text, which can have what no JavaScript text is encoded as. */
const names: readonly string[] = [
  ...breaks.map((text) => JSON.stringify(`a${text}${injected}${text}b`)),
  ...breaks.map((text) => JSON.stringify(text)),
  ...['é', '名前', '🙂', 'a,b', 'a: b', 'a;b', '"', '\\', '', ' ', 'constructor'].map((text) =>
    JSON.stringify(text),
  ),
  ...['"\\ud800"', '"a\\u000d\\u000ax-injected: yes"', `"${'x'.repeat(200)}"`],
];

const members = names.map((name) => `,${name}:1`).join('');
const model = '"model":"vendor/name:free"';

const tool = `{"type":"function","function":{"name":"f"${members}}}`;

/** A body with all of the names, in each place whose members are listed. */
const bodies: Readonly<Record<string, string>> = {
  'the body': `{${model},${messages('')}${members}}`,
  'a message': `{${model},${messages(members)}}`,
  'a tool': `{${model},${messages('')},"tools":[${tool}]}`,
};

function messages(inside: string): string {
  return `"messages":[{"role":"user","content":"Hello!"${inside}}]`;
}

describe.each(ofThisNode(mounts))('$name', (mount: Mount) => {
  let harness: UnmountedGateway;
  let host: RunningMount;

  beforeAll(async () => {
    harness = await unmountedGateway();
    host = await mount.start(harness.gateway);
  });

  afterEach(async () => {
    if (mount.body === 'json') await takeWarnings();
  });

  afterAll(async () => {
    await host.close();
    await harness.close();
  });

  it.each(
    Object.entries(bodies),
  )('names in %s neither end the headers nor begin one', async (_place, body) => {
    const [head = ''] = (await post(body)).split('\r\n\r\n', 1);

    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect(head).not.toMatch(/^x-injected/im);
    const listed = /^x-tollgate-dropped: (.*)$/im.exec(head)?.[1];
    expect(listed).toMatch(/^[\w.[\],+ -]{1,4096}$/);
    expect(host.reported).toEqual([]);
  });

  it('a plain name is listed', async () => {
    const head = await post(JSON.stringify({ ...chatBody, model: 'vendor/name:free', odd: 1 }));

    expect(head).toMatch(/^x-tollgate-dropped: odd\r$/im);
  });

  function post(body: string): Promise<string> {
    const headers = {
      authorization: `Bearer ${harness.secrets.chat}`,
      'content-type': 'application/json',
      connection: 'close',
    };
    return exchangeRaw(
      host.origin,
      rawRequest(`POST ${host.base}/v1/chat/completions`, headers, body),
    );
  }
});
