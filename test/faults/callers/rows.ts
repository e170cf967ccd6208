/** Rows F51–F61: faults of callers while they send, wait and read. */

import { type Kind, kinds, streamKinds } from '../kinds.ts';
import { allMounts } from '../rows/row.ts';
import type { CallerExpected, CallerRow } from './row.ts';

const cheapKinds: readonly Kind[] = kinds.filter((kind) => kind !== 'images');
const wholeReply: CallerExpected = {
  statuses: [200],
  records: [{ status: 200, outcome: 'complete', charge: 'usage' }],
  reserves: 1,
  upstream: ['ended'],
};
const notBegun: CallerExpected = { statuses: [], records: [], reserves: 0, upstream: [] };
const notRun: CallerExpected = {
  ...notBegun,
  records: [{ status: 499, outcome: 'not_run', charge: 'nothing' }],
  reserves: 1,
};
const abortedEarly: CallerExpected = {
  statuses: [],
  records: [{ status: 499, outcome: 'caller_left', charge: 'observed' }],
  reserves: 1,
  upstream: ['aborted'],
};
const abortedMidStream: CallerExpected = abortedEarly;
/** An image is billed once its request is sent: it continues and is charged in full. */
const continued: CallerExpected = { ...wholeReply, statuses: [] };

const compressing: readonly string[] = [
  'Express 4 behind compression, helmet and cors',
  'Express 5 behind compression, helmet and cors',
  'Koa 3 behind koa-compress',
];

/** The rows, in the order of a call. */
export const callerRows: readonly CallerRow[] = [
  {
    id: 'F51',
    fault: 'An upstream slower than its caller: each event arrives before the next one exists.',
    kinds: streamKinds,
    mounts: [...allMounts, ...compressing],
    upstream: 'halts mid-stream',
    headers: { 'accept-encoding': 'gzip, br' },
    steps: [
      'sends it all',
      'sees the first event alone',
      'the upstream continues',
      'sees an answer',
      'closes',
    ],
    expected: wholeReply,
  },
  {
    id: 'F52',
    fault: 'A caller that disconnects while it sends its body.',
    kinds,
    mounts: allMounts,
    upstream: 'answers',
    steps: [
      'sends the head, expecting 100',
      'sees 100 Continue',
      'sends half of the body',
      'closes',
      'is noticed as gone',
    ],
    expected: notBegun,
  },
  {
    id: 'F52',
    fault: 'A caller that resets while it sends its body.',
    kinds,
    mounts: allMounts,
    upstream: 'answers',
    steps: [
      'sends the head, expecting 100',
      'sees 100 Continue',
      'sends half of the body',
      'resets',
      'is noticed as gone',
    ],
    expected: notBegun,
  },
  {
    id: 'F53',
    fault: 'A caller that leaves while its key is looked up.',
    kinds,
    mounts: allMounts,
    upstream: 'answers',
    steps: [
      'sends it all',
      'is being authenticated',
      'closes',
      'is noticed as gone',
      'is authenticated',
    ],
    expected: notBegun,
  },
  {
    id: 'F53',
    fault: 'A caller that disconnects while its quota is reserved.',
    kinds,
    mounts: allMounts,
    upstream: 'answers',
    steps: ['sends it all', 'is reserving', 'resets', 'is noticed as gone', 'has reserved'],
    expected: notRun,
  },
  {
    id: 'F54',
    fault: 'A caller that disconnects before the upstream has answered.',
    kinds: cheapKinds,
    mounts: allMounts,
    upstream: 'waits',
    steps: ['sends it all', 'is at the upstream', 'closes', 'is noticed as gone'],
    expected: abortedEarly,
  },
  {
    id: 'F54',
    fault: 'A caller that disconnects from an image request: it continues and is charged.',
    kinds: ['images'],
    mounts: allMounts,
    upstream: 'waits',
    steps: [
      'sends it all',
      'is at the upstream',
      'closes',
      'is noticed as gone',
      'the upstream continues',
    ],
    expected: continued,
  },
  {
    id: 'F55',
    fault: 'A caller that resets mid-stream.',
    kinds: streamKinds,
    mounts: allMounts,
    upstream: 'halts mid-stream',
    steps: ['sends it all', 'sees the first event alone', 'resets', 'is noticed as gone'],
    expected: abortedMidStream,
  },
  {
    id: 'F56',
    fault: 'A caller that closes after the last byte.',
    kinds,
    mounts: allMounts,
    upstream: 'answers',
    steps: ['sends it all', 'sees an answer', 'closes'],
    expected: wholeReply,
  },
  {
    id: 'F56',
    fault: 'A caller that resets after the last byte.',
    kinds,
    mounts: allMounts,
    upstream: 'answers',
    steps: ['sends it all', 'sees an answer', 'resets'],
    expected: wholeReply,
  },
  {
    id: 'F57',
    fault:
      'A caller that sends FIN after its request and reads on: Node counts it as disconnected.',
    kinds: cheapKinds,
    mounts: allMounts,
    upstream: 'waits',
    steps: ['sends it all', 'is at the upstream', 'sends FIN', 'is noticed as gone'],
    expected: abortedEarly,
  },
  {
    id: 'F57',
    fault: 'A caller that sends FIN after its request for an image: it continues and is charged.',
    kinds: ['images'],
    mounts: allMounts,
    upstream: 'waits',
    steps: [
      'sends it all',
      'is at the upstream',
      'sends FIN',
      'is noticed as gone',
      'the upstream continues',
    ],
    expected: continued,
  },
  {
    id: 'F58',
    fault: 'A caller that resets a kept-alive connection and connects again.',
    kinds,
    mounts: allMounts,
    upstream: 'answers',
    steps: [
      'sends it all',
      'sees an answer',
      'resets',
      'connects',
      'sends it all',
      'sees an answer',
    ],
    expected: {
      statuses: [200, 200],
      records: [...wholeReply.records, ...wholeReply.records],
      reserves: 2,
      upstream: ['ended', 'ended'],
    },
  },
  {
    id: 'F58',
    fault: 'A caller that sends a second request before the first is answered: in their order.',
    kinds,
    mounts: allMounts,
    upstream: 'waits',
    steps: [
      'sends two at once',
      'is at the upstream',
      'the second is answered first',
      'the upstream continues',
      'sees both answers',
      'closes',
    ],
    expected: { ...wholeReply, statuses: [200, 404] },
  },
  {
    id: 'F60',
    fault: 'A caller that never reads counts as disconnected after a while.',
    kinds: streamKinds,
    mounts: allMounts,
    upstream: 'floods',
    steps: [
      'stops reading',
      'sends it all',
      'is at the upstream',
      'time for a stalled caller passes',
      'is noticed as gone',
    ],
    expected: abortedMidStream,
  },
  {
    id: 'F61',
    fault: 'A caller that waits for 100 Continue gets it from Node, and its answer.',
    kinds,
    mounts: allMounts,
    upstream: 'answers',
    steps: [
      'sends the head, expecting 100',
      'sees 100 Continue',
      'sends half of the body',
      'sends the rest of the body',
      'sees an answer',
    ],
    expected: wholeReply,
  },
  {
    id: 'F61',
    fault: 'A caller with an unknown `Expect` gets 417 from Node.',
    kinds,
    mounts: allMounts,
    upstream: 'answers',
    headers: { expect: 'a miracle' },
    steps: ['sends it all', 'sees an answer'],
    expected: { ...notBegun, statuses: [417] },
  },
  {
    id: 'F61',
    fault: 'A caller that sends one byte at a time.',
    kinds,
    mounts: ['node:http'],
    upstream: 'answers',
    steps: ['sends it byte by byte', 'sees an answer'],
    expected: wholeReply,
  },
];
