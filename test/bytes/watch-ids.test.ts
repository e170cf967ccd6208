// suite: quick
/** The ids in a reply that streams past are found however it is cut into chunks. */
import { expect, it } from 'vitest';
import { watchIds } from '../../src/bytes/json/stream/watch.ts';

const reply = Buffer.from(
  JSON.stringify({
    object: 'response',
    error: { id: 'not_this' },
    output: [
      { id: 'rs_1', summary: [{ id: 'nor_this', text: 'ü"}],{"id":"x"}' }] },
      { type: 'message', content: [[{ id: 'nor_this' }]], id: 'msg_"2"' },
      'text',
      [{ id: 'nor_this' }],
      { id: 5 },
      { id: null, id2: 'x' },
      { content: { id: 'nor_this' } },
    ],
    id: 'resp_1',
    usage: { id: 'nor_this', output: [{ id: 'nor_this' }] },
  }),
);

it('ids are found in a reply that is cut at any byte', () => {
  for (let cut = 0; cut <= reply.length; cut += 1) {
    const ids = watchIds('output');
    ids.write(reply.subarray(0, cut));
    ids.write(reply.subarray(cut));

    expect([ids.own(), ids.ofElements()]).toEqual(['resp_1', ['rs_1', 'msg_"2"']]);
  }
});

it('ids are found byte by byte, and in a reply that breaks off', () => {
  const ids = watchIds('output');
  for (let at = 0; at < reply.indexOf('msg_'); at += 1) ids.write(reply.subarray(at, at + 1));

  expect([ids.own(), ids.ofElements()]).toEqual([undefined, ['rs_1']]);
});

it('no ids are found in documents without them', () => {
  for (const text of [
    '',
    '[]',
    '[{"id":"a","output":[{"id":"b"}]}]',
    '"id"',
    '{"output":{"id":"a"}}',
  ]) {
    const ids = watchIds('output');
    ids.write(Buffer.from(text));

    expect([ids.own(), ids.ofElements()]).toEqual([undefined, []]);
  }
});
