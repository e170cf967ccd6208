// suite: slow
/**
 * A request is sent upstream as the caller sent it, byte for byte except for the members named
 * here.
 */
import { describe, expect, it } from 'vitest';
import type { Capabilities } from '../../src/ports/models/capabilities.ts';
import type { Channel } from '../../src/ports/models/catalog.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  images,
  native,
  upstreamSecret,
} from '../support/any-model-gateway.ts';
import type { Fixture } from '../support/recorded/fixtures.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';
import { type CallerApi, doorOf } from './oracle.ts';
import { recordings } from './streams.ts';

const upstreamModel = 'vendor/model-2';
const asksForUsage = '"stream_options":{"include_usage":true}';

describe('a recorded request', () => {
  const recorded = recordings.filter(
    ({ request, name }) => request !== undefined && !name.includes('err-400'),
  );

  it.each(
    recorded.map((one) => [one.name, one] as const),
  )('%s changes only in the named members', async (_, one) => {
    const text = Buffer.from(one.request ?? []).toString();

    const sent = await sentFor(requestedBy(one, text), { upstreamModel });

    expect(sent.body).toBe(expectedOf(doorOf(one), text));
  });
});

describe('a body that parsing would change', () => {
  const odd =
    '{ "model":"m" ,\t"messages" : [ {"role":"user","content":"\\u00e9\\/ \\ud83d\\ude00"} ],\r\n' +
    ' "seed":12345678901234567890, "temperature":1.0, "top_p":1E-2,"x":{"b":1,"a":-0.0} }\n';

  it('is sent unchanged: big integers, 1.0, escapes, odd spacing, order', async () => {
    const { body } = await sentFor(chat(odd), { upstreamModel });

    expect(body).toBe(odd.replace('"m"', `"${upstreamModel}"`));
  });

  it('is sent unchanged at 20 MB', async () => {
    const url = `data:image/png;base64,${'A'.repeat(20 * 1024 * 1024)}`;
    const part = `{"type":"image_url","image_url":{"url":"${url}"}}`;
    const text = `{"messages":[{"role":"user","content":[${part}]}],"model":"m"}`;

    const { body } = await sentFor(chat(text), { upstreamModel });

    expect(body === text.replace('"model":"m"', `"model":"${upstreamModel}"`)).toBe(true);
  });

  it('is sent unchanged if the channel has the same name for the model', async () => {
    expect((await sentFor(chat(odd), {})).body).toBe(odd);
  });
});

describe('stream_options', () => {
  const cases: readonly (readonly [string, string, string, Capabilities])[] = [
    ['is added where it is absent', '', `,${asksForUsage}`, {}],
    ['replaces null', ',"stream_options":null', `,${asksForUsage}`, {}],
    ['is added to an empty one', ',"stream_options":{}', `,${asksForUsage}`, {}],
    [
      'is turned on where it was off',
      ',"stream_options": { "include_usage" : false }',
      ',"stream_options": { "include_usage" : true }',
      {},
    ],
    [
      'keeps its other members as they were sent',
      ',"stream_options":{"include_obfuscation":false, "x":12345678901234567}',
      ',"stream_options":{"include_obfuscation":false, "x":12345678901234567,"include_usage":true}',
      {},
    ],
    ['stays where the caller asked', `,${asksForUsage}`, `,${asksForUsage}`, {}],
    ['stays away where the channel refuses it', '', '', { includeUsage: false }],
    [
      'stays as sent where the channel refuses it',
      ',"stream_options":null',
      ',"stream_options":null',
      { includeUsage: false },
    ],
  ];

  it.each(cases)('%s', async (_, sent, expected, capabilities) => {
    const start = '{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true';

    const { body } = await sentFor(chat(`${start}${sent}}`), { capabilities });

    expect(body).toBe(`${start}${expected}}`);
  });

  it('is not changed in a call that does not stream', async () => {
    const text = '{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":false}';

    expect((await sentFor(chat(text), {})).body).toBe(text);
  });
});

describe('response_format of an image request', () => {
  const requested = '{"model":"m","response_format":"b64_json","prompt":"a cat"}';
  const plain = '{"model":"m","prompt":"a cat"}';
  const added = '{"model":"m","prompt":"a cat","response_format":"b64_json"}';
  const cases: readonly (readonly [string, string, string, Capabilities])[] = [
    ['is left out where the upstream refuses the word', requested, plain, {}],
    ['is left out where it is null', requested.replace('"b64_json"', 'null'), plain, {}],
    ['is not missed there', plain, plain, { imageBase64: 'unasked' }],
    ['is added where the upstream must be asked', plain, added, { imageBase64: 'response_format' }],
    ['stays there', requested, requested, { imageBase64: 'response_format' }],
  ];

  it.each(cases)('%s', async (_, sent, expected, capabilities) => {
    expect((await sentFor(images(sent), { capabilities })).body).toBe(expected);
  });
});

describe('the URL', () => {
  const paths: readonly (readonly [string, CallerRequest, string | undefined, string])[] = [
    ['of a chat', chat(), undefined, '/v1/chat/completions'],
    ['of an image', images(), undefined, '/v1/images/generations'],
    ['of a native call', native('json'), undefined, '/v1/models/m:generateContent'],
    ['of a native stream', native('sse'), undefined, '/v1/models/m:streamGenerateContent?alt=sse'],
    ['of a native array', native('json_array'), undefined, '/v1/models/m:streamGenerateContent'],
    ['of a tuned model', native('json'), 'tunedModels/t', '/v1/tunedModels/t:generateContent'],
    ['with a slash', native('json'), 'vendor/m', '/v1/models/vendor/m:generateContent'],
    ['with a colon', native('json'), 'm:free', '/v1/models/m%3Afree:generateContent'],
    [
      'that would leave its place',
      native('json'),
      'm?x=1#é',
      '/v1/models/m%3Fx%3D1%23%C3%A9:generateContent',
    ],
  ];

  it.each(paths)('%s', async (_, request, name, expected) => {
    const { path } = await sentFor(request, name === undefined ? {} : { upstreamModel: name });

    expect(path).toBe(expected);
  });
});

describe('a native body that names its model', () => {
  const contents = '"contents":[{"parts":[{"text":"hi"}]}]';

  it('gets the upstream’s name of the model', async () => {
    const { body } = await sentFor(native('json', `{"model": "models/m",${contents}}`), {
      upstreamModel: 'g-2',
    });

    expect(body).toBe(`{"model": "models/g-2",${contents}}`);
  });

  it('gets it too if the request to count is wrapped', async () => {
    const text = `{"generateContentRequest": {"model":"models/m", ${contents},"seed":1.0}}`;
    const request = { path: '/v1beta/models/m:countTokens', body: text };

    const { body } = await sentFor(request, { upstreamModel: 'g-2' });

    expect(body).toBe(text.replace('models/m', 'models/g-2'));
  });

  it('is not changed if the names are the same', async () => {
    const text = `{"model":"models/m",${contents}}`;

    expect((await sentFor(native('json', text), {})).body).toBe(text);
  });
});

describe('the headers', () => {
  it('are built from scratch: none of the caller’s is forwarded', async () => {
    const sent = [await sentFor(chat(), {}), await sentFor(native(), {})];

    expect(sent.map(({ headers }) => headers)).toEqual([
      { ...plainHeaders, authorization: `Bearer ${upstreamSecret}` },
      { ...plainHeaders, 'x-goog-api-key': upstreamSecret },
    ]);
  });
});

const plainHeaders = {
  'content-type': 'application/json',
  accept: 'text/event-stream',
  'accept-encoding': 'identity',
  'user-agent': 'tollgate',
};

interface Sent {
  readonly path: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function sentFor(sent: CallerRequest, channel: Partial<Channel>): Promise<Sent> {
  const upstream = scriptedUpstream({ status: 500 });
  // Free, because some of the recorded requests have members that no price covers.
  await anyModelGateway({ upstream, channel, model: { price: { per: 'free' } } }).call(sent);
  const [request] = upstream.requests;
  if (request === undefined) throw new Error('Nothing was sent.');
  const { path, body, headers } = request;
  return { path, body: Buffer.concat(body).toString(), headers };
}

function requestedBy(recorded: Fixture, text: string): CallerRequest {
  switch (doorOf(recorded)) {
    case 'chat':
      return chat(text);
    case 'images':
      return images(text);
    case 'native':
      return native(recorded.streamed ? 'sse' : 'json', text);
  }
}

/** Uses a regular expression: each of these bodies has `"model"` once, at the top level. */
function expectedOf(api: CallerApi, text: string): string {
  if (api === 'native') return text;
  const renamed = text.replace(/("model"\s*:\s*)"[^"]*"/, `$1"${upstreamModel}"`);
  const { stream, stream_options: options } = JSON.parse(text);
  return stream === true && options?.include_usage !== true
    ? renamed.replace(/(\s*\}\s*)$/, `,${asksForUsage}$1`)
    : renamed;
}
