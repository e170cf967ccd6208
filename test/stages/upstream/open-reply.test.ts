// suite: quick
/** Opening an upstream's response: by its content type, and never left half read. */
import { expect, it } from 'vitest';
import { UpstreamError } from '../../../src/errors.ts';
import type { PreparedCall } from '../../../src/stages/prepare/prepared-call.ts';
import { openReply } from '../../../src/stages/upstream/open-reply.ts';
import { OpenedBody } from '../../../src/upstream/body/opened.ts';
import { scriptedBody } from '../../support/scripted-upstream.ts';

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
  tap: () => ({
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
  }),
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
