// suite: quick runtime
/** A host that passes its own stream as the body: one that it decompresses, or a web stream. */
import { PassThrough, Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { anyModelGateway, chat } from '../../support/any-model-gateway.ts';

const broken: readonly (readonly [string, () => Readable])[] = [
  [
    'in the turn in which the call comes',
    () => {
      const body = new PassThrough();
      process.nextTick(() => body.destroy(new Error('reset')));
      return body;
    },
  ],
  [
    'that was one of the web',
    () =>
      Readable.fromWeb(
        new ReadableStream({
          pull: (controller) => controller.error(new Error('reset')),
        }),
      ),
  ],
];

it.each(
  broken,
)('a stream that breaks %s is a disconnected caller, and no crash', async (_, make) => {
  const { gateway } = anyModelGateway();
  const headers = { authorization: 'Bearer caller-secret', 'content-type': 'application/json' };

  const { status } = await gateway.handle({
    method: 'POST',
    path: chat().path,
    search: '',
    headers,
    rawHeaders: Object.entries(headers).flat(),
    body: make(),
    onClose: () => {},
  });

  expect(status).toBe(400);
});
