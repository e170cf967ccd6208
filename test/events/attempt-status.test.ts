// suite: search
/**
 * The status of an attempt, in its event and in the usage record, is the one that the upstream has
 * sent, whatever was wrong with the rest: for every API over every dialect.
 */
import { describe, expect, it } from 'vitest';
import { turns } from '../stages/ports/failing.ts';
import type { CallHandler } from '../support/driven-upstream.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { everyModel, headersFor, replyFor, requestFor, routes } from './every-api.ts';

const eventStream = { 'content-type': 'text/event-stream' };
const busy = { error: { message: 'busy', type: 'rate_limit_error', code: 429, status: 'ABORTED' } };

/** What an upstream may answer instead of a reply. */
const answers: Readonly<Record<string, CallHandler>> = {
  'a stream that is not made of events': (up) => up.answer(200, 'data: {"id":"chatcm', eventStream),
  'a stream with an error of another status': (up) =>
    up.answer(200, `data: ${JSON.stringify(busy)}\n\n`, eventStream),
  'an event named error': (up) =>
    up.answer(200, 'event: error\ndata: {"message":"busy"}\n\n', eventStream),
  'a document with an error of another status': (up) => up.answer(200, busy),
  nonsense: (up) => up.answer(200, 'nonsense'),
  nothing: (up) => up.answer(200, '', headersFor(up)),
  'half a reply': (up) => {
    const reply = replyFor(up);
    up.answer(200, reply.slice(0, reply.length / 2), headersFor(up));
  },
  'the beginning of a reply, and a broken connection': (up) => {
    up.respond(200, headersFor(up));
    up.write(replyFor(up).slice(0, 20));
    up.breakOff('reset');
  },
  'a broken connection': (up) => up.breakOff('reset'),
  'an error with a status': (up) => up.answer(503, busy),
  'an unusual status': (up) => up.answer(418, 'I am a teapot'),
};

describe.each(Object.entries(answers))('%s', (_name, answer) => {
  it.each(routes)('to $kind over $dialect', async (route) => {
    const harness = gatewayInProcess({ models: everyModel, handlers: Array(9).fill(answer) });
    await harness.call(requestFor(route)).catch(String);
    await harness.ended(1);
    await turns();

    const [record] = harness.records;
    const sent = harness.upstream.calls.map(({ status }) => status);
    expect(record?.attempts.map(({ status }) => status)).toEqual(sent);
    expect(sent.length).toBeGreaterThan(0);
    expect(harness.laws.open()).toEqual([]);
  });
});
