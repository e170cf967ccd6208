// suite: quick runtime
/** A body between its client and its readers: held, resumed, cut. */
import { expect, it } from 'vitest';
import { UpstreamError } from '../../../src/errors.ts';
import type { ByteSink } from '../../../src/ports/upstream-client.ts';
import { OpenedBody } from '../../../src/upstream/body/opened.ts';
import { controlledBody } from '../../bytes/reply-doubles.ts';

it('chunks that arrive without a reader are given to the next reader as one chunk', () => {
  const { body, sink } = controlledBody();
  const opened = new OpenedBody(body, undefined);
  opened.start(silent);
  opened.detach();
  for (const text of ['a', 'b', 'c']) sink().write(Buffer.from(text));
  const { log, reader } = recording();

  opened.start(reader);
  sink().write(Buffer.from('d'));
  sink().end();

  expect(log).toEqual(['abc', 'd', 'end']);
});

it('its client is asked to pause only once much is unread, and to resume after that', () => {
  const { body, sink, calls } = controlledBody();
  const opened = new OpenedBody(body, undefined);
  opened.start(silent);
  opened.detach();

  sink().write(Buffer.alloc(64 * 1024));
  const before = [...calls];
  sink().write(Buffer.alloc(1));
  sink().write(Buffer.alloc(1));
  opened.start(silent);

  expect(before).toEqual(['start']);
  expect(calls).toEqual(['start', 'pause', 'resume']);
});

it.each([
  ['came to its end', (sink: ByteSink) => sink.end(), ['a', 'end']],
  [
    'broke off',
    (sink: ByteSink) => sink.fail(new UpstreamError('body', 'reset')),
    ['a', 'upstream body: reset'],
  ],
])('that it %s without a reader is delivered after the buffered chunks', (_how, finish, pauses) => {
  const { body, sink } = controlledBody();
  const opened = new OpenedBody(body, undefined);
  opened.start(silent);
  opened.detach();
  sink().write(Buffer.from('a'));
  finish(sink());
  const { log, reader } = recording();

  opened.start(reader);

  expect(log).toEqual(pauses);
});

it('a body that was cut without a reader fails for the next reader, and is aborted', () => {
  const { body, sink, calls } = controlledBody();
  const opened = new OpenedBody(body, undefined);
  opened.start(silent);
  opened.detach();
  const { log, reader } = recording();

  opened.cut(new Error('over'));
  sink().write(Buffer.from('late'));
  opened.start(reader);
  sink().end();

  expect(calls).toEqual(['start', 'abort']);
  expect(log).toEqual(['upstream body: failed']);
});

it('a body that was cut before its first reader is never started', () => {
  const { body, calls } = controlledBody();
  const opened = new OpenedBody(body, undefined);
  const { log, reader } = recording();

  opened.cut(new Error('over'));
  opened.start(reader);

  expect(calls).toEqual(['abort']);
  expect(log).toEqual(['upstream body: failed']);
});

it('a body that has ended is not cut', () => {
  const { body, sink, calls } = controlledBody();
  const opened = new OpenedBody(body, undefined);
  const { log, reader } = recording();
  opened.start(reader);
  sink().end();

  opened.cut(new Error('over'));

  expect(calls).toEqual(['start']);
  expect(log).toEqual(['end']);
});

it('a body that was aborted delivers nothing any more', () => {
  const { body, sink } = controlledBody();
  const opened = new OpenedBody(body, undefined);
  const { log, reader } = recording();
  opened.start(reader);

  opened.abort();
  sink().write(Buffer.from('late'));
  sink().end();
  sink().fail(new Error('reset'));

  expect(log).toEqual([]);
});

const silent: ByteSink = { write: () => {}, end: () => {}, fail: () => {} };

function recording(): { readonly log: readonly string[]; readonly reader: ByteSink } {
  const log: string[] = [];
  const reader: ByteSink = {
    write: (chunk) => log.push(Buffer.from(chunk).toString()),
    end: () => log.push('end'),
    fail: (error) => log.push(error.message),
  };
  return { log, reader };
}
