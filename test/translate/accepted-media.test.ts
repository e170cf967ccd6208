// suite: slow
/** Media that the upstream's models don't accept: refused by name, before anything is sent. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/json.ts';
import { type DialectName, dialectNames } from '../../src/ports/models/capabilities.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  messages,
  native,
  responses,
} from '../support/any-model-gateway.ts';
import { type ScriptedUpstream, scriptedUpstream } from '../support/scripted-upstream.ts';

/** Media with its type, in Base64 or at a URL. */
interface Media {
  readonly mimeType: string;
  readonly url?: string;
}

const data = 'AAAA';
const toolUse = { type: 'tool_use', id: 'c1', name: 'f', input: {} };
const functionCall = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };

function body(members: JsonObject): string {
  return JSON.stringify({ model: 'm', ...members });
}

function address({ mimeType, url }: Media): string {
  return url ?? `data:${mimeType};base64,${data}`;
}

function anthropicImage({ mimeType, url }: Media): JsonObject {
  const inline = { type: 'base64', media_type: mimeType, data };
  return { type: 'image', source: url === undefined ? inline : { type: 'url', url } };
}

/** Each API, its own dialect, and the path of the image in its request. */
const callers: readonly (readonly [
  name: string,
  own: DialectName,
  at: string,
  request: (media: Media) => CallerRequest,
])[] = [
  [
    'chat',
    'openai',
    'messages[0].content[0]',
    (media) => {
      const part = { type: 'image_url', image_url: { url: address(media) } };
      return chat(body({ messages: [{ role: 'user', content: [part] }] }));
    },
  ],
  [
    'Responses',
    'openai',
    'input[0].content[0]',
    (media) => {
      const part = { type: 'input_image', image_url: address(media) };
      return responses(body({ input: [{ role: 'user', content: [part] }] }));
    },
  ],
  [
    'a result in Responses',
    'openai',
    'input[1].output[0]',
    (media) => {
      const output = [{ type: 'input_image', image_url: address(media) }];
      const result = { type: 'function_call_output', call_id: 'c1', output };
      return responses(body({ input: [functionCall, result] }));
    },
  ],
  [
    'Messages',
    'anthropic',
    'messages[0].content[0]',
    (media) =>
      messages(
        body({ max_tokens: 9, messages: [{ role: 'user', content: [anthropicImage(media)] }] }),
      ),
  ],
  [
    'a result in Messages',
    'anthropic',
    'messages[1].content[0].content[0]',
    (media) => {
      const result = { type: 'tool_result', tool_use_id: 'c1', content: [anthropicImage(media)] };
      const turns = [
        { role: 'assistant', content: [toolUse] },
        { role: 'user', content: [result] },
      ];
      return messages(body({ max_tokens: 9, messages: turns }));
    },
  ],
  [
    'native',
    'gemini',
    'contents[0].parts[0]',
    ({ mimeType, url }) => {
      const part =
        url === undefined
          ? { inlineData: { mimeType, data } }
          : { fileData: { mimeType, fileUri: url } };
      return native('json', JSON.stringify({ contents: [{ parts: [part] }] }));
    },
  ],
];

const common = ['image/png', 'image/jpeg', 'image/webp'];
const accepts: Readonly<Record<DialectName, readonly string[]>> = {
  openai: [...common, 'image/gif'],
  anthropic: [...common, 'image/gif'],
  gemini: [...common, 'image/heic', 'image/heif', 'image/bmp'],
};
const images = [
  ...new Set(Object.values(accepts).flat()),
  'image/tiff',
  'image/svg+xml',
  'image/avif',
  'image/x-icon',
];
const extensions = new Map([
  ['image/jpeg', 'jpg'],
  ['image/svg+xml', 'svg'],
  ['image/x-icon', 'ico'],
]);

async function answer(
  dialect: DialectName,
  request: CallerRequest,
): Promise<{
  readonly status: number;
  readonly text: string;
  readonly upstream: ScriptedUpstream;
}> {
  const headers = { 'content-type': 'application/json' };
  const upstream = scriptedUpstream({ status: 400, headers, chunks: ['{"error":{}}'] });
  const reply = await anyModelGateway({ upstream, channel: { dialect } }).call(request);
  return { ...reply, upstream };
}

const pairs = callers.flatMap(([name, own, at, request]) =>
  dialectNames
    .filter((dialect) => dialect !== own)
    .map((dialect) => [name, dialect, at, request] as const),
);

describe.each(pairs)('an image in %s over %s', (_, dialect, at, request) => {
  it.each(images)('%s: sent, or refused by name', async (mimeType) => {
    const file = `a.${extensions.get(mimeType) ?? mimeType.slice('image/'.length)}`;
    for (const media of [{ mimeType }, { mimeType, url: `https://a.test/${file}` }]) {
      const { status, text, upstream } = await answer(dialect, request(media));

      // Google doesn't fetch every type that it reads.
      const isFetched = dialect !== 'gemini' || !('url' in media);
      if (accepts[dialect].includes(mimeType) && isFetched) {
        expect(upstream.requests).toHaveLength(1);
      } else if (!accepts[dialect].includes(mimeType)) {
        expect([status, upstream.requests]).toEqual([400, []]);
        expect(text).toContain(`does not accept ${mimeType}. Send the image as `);
        expect(text).toContain(at);
      }
    }
  });

  it('of a type that nobody knows is refused without repeating it', async () => {
    const { status, text, upstream } = await answer(
      dialect,
      request({ mimeType: 'image/x-my-secret' }),
    );

    expect([status, upstream.requests]).toEqual([400, []]);
    expect(text).toContain('does not accept this type of image');
    expect(text).not.toContain('secret');
  });
});

describe('a document over Gemini', () => {
  it.each([
    ['application/pdf', true],
    ['text/csv', true],
    ['text/plain; charset=utf-8', true],
    ['application/json', true],
    ['application/msword', false],
    ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', false],
    ['application/zip', false],
    ['application/octet-stream', false],
  ])('of the type %s is accepted: %s', async (mimeType, isAccepted) => {
    const source = { type: 'base64', media_type: mimeType, data };
    const content = [{ type: 'document', source }];
    const request = messages(body({ max_tokens: 9, messages: [{ role: 'user', content }] }));

    const { text, upstream } = await answer('gemini', request);

    expect(upstream.requests).toHaveLength(isAccepted ? 1 : 0);
    if (!isAccepted) expect(text).toContain('Send the document as PDF or text.');
  });
});
