// suite: quick runtime
/** The body buffer between undici and its reader. */
import { expect, it } from 'vitest';
import { bodyInbox, type SocketGate } from '../../../src/upstream/body/inbox.ts';

it('passes chunks that came before the reader one by one: the first may be enough', () => {
  const inbox = bodyInbox(openGate, () => {});
  const seen: string[] = [];
  for (const piece of ['good', 'error']) inbox.write(Buffer.from(piece));

  inbox.body.start({
    write: (chunk) => {
      seen.push(Buffer.from(chunk).toString());
      inbox.body.abort();
    },
    end: () => seen.push('end'),
    fail: () => seen.push('fail'),
  });
  inbox.end();

  expect(seen).toEqual(['good']);
});

const openGate: SocketGate = { close: () => {}, open: () => {}, release: () => {} };
