// suite: quick
/** Opening an upstream's response: by its content type, and never left half read. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { StreamTap } from '../../../src/dialects/taps/tap.ts';
import { UpstreamError } from '../../../src/errors.ts';
import type { PreparedCall } from '../../../src/stages/prepare/prepared-call.ts';
import { openReply } from '../../../src/stages/upstream/open-reply.ts';
import { OpenedBody } from '../../../src/upstream/body/opened.ts';
import { scriptedBody } from '../../support/scripted-upstream.ts';

const tap: StreamTap = {
  write: () => {
    throw new UpstreamError('body', 'event_too_large');
  },
  end: () => new Uint8Array(0),
  hasBegun: () => false,
  finished: () => false,
  complete: () => false,
  failure: () => undefined,
  usage: () => undefined,
  countedTokens: () => 0,
  progress: () => 0,
  breakOff: () => undefined,
};

/** A call for which every reply is too large for its tap. */
const prepared: PreparedCall = {
  dialect: { readFailure: () => ({ ...emptyReport, status: 502 }) },
  streamContentType: 'text/event-stream',
  path: '/',
  framing: 'json',
  body: [],
  prompt: undefined,
  notes: {},
  maxBufferedBytes: 10,
  canTapDocument: false,
  tap: () => tap,
  judge: () => ({ kind: 'bad', reason: 'other' }),
  replyToRefusal: () => undefined,
};
const emptyReport = {
  message: undefined,
  code: undefined,
  param: undefined,
  retryAfterMs: undefined,
  fault: undefined,
};

it.each([
  ['a document', 'json', 'application/json', '{"filler":"xxxxxxxxxx"'],
  ['a stream', 'sse', 'text/event-stream', 'data: {}\n\n'],
  ['a stream by any spelling', 'sse', 'Text/Event-Stream; charset=UTF-8', 'data: {}\n\n'],
] as const)('%s that its tap can’t take is given up', async (_what, framing, type, text) => {
  let aborts = 0;
  const body = scriptedBody({ chunks: [text, text] }, () => {
    aborts += 1;
  });

  const opening = openReply(
    { status: 200, headers: { 'content-type': type }, body: new OpenedBody(body, undefined) },
    { ...prepared, framing },
    { watch: undefined },
  );

  await expect(opening).rejects.toMatchObject({ reason: 'event_too_large' });
  expect(aborts).toBe(1);
});

it('gives a large document to its tap uncopied, unless its first chunk is short', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1 }),
      async (sizes) => {
        // The last chunk arrives when the reply is already too large to be held.
        const chunks = [...sizes, 12].map((size) => Buffer.alloc(size, ' '));
        chunks[0]?.fill('{', 0, 1);
        const written: Uint8Array[] = [];
        const write = (chunk: Uint8Array) => {
          written.push(chunk);
          return chunk;
        };
        const body = new OpenedBody(scriptedBody({ chunks }), undefined);
        const headers = { 'content-type': 'application/json' };

        const opening = await openReply(
          { status: 200, headers, body },
          {
            ...prepared,
            tap: () => ({ ...tap, write }),
            maxBufferedBytes: sizes.reduce((sum, size) => sum + size, 0),
          },
          { watch: undefined },
        );

        expect(opening.kind === 'streamed' && opening.firstOutput.length).toBe(written.length);
        expect(Buffer.concat(written).equals(Buffer.concat(chunks))).toBe(true);
        expect(written).toHaveLength((sizes[0] ?? 0) >= 1_024 ? chunks.length : 1);
      },
    ),
    { numRuns: 50 },
  );
});
