/** F01–F16: faults before an upstream has answered. */

import { everywhere, fine, mayHaveRun, notRun, refused, timedOut } from '../classes.ts';
import { type Kind, kinds } from '../kinds.ts';
import { ends, reads, resets, type Step, sends, stalls } from '../raw-upstream.ts';
import { answer, head, leaking, reply } from '../responses.ts';
import { type ExpectedOfKinds, type FaultRow, oneMount } from './row.ts';

const ok = 'HTTP/1.1 200 OK\r\n';
/** Longer than the longest timeout for a first byte. */
const beyondHead = { advances: { afterStallIn: 'head', ms: 310_000 } } as const;

/** Rows in which no connection succeeds, with the reason and its cause. */
const unreachable = (
  fault: string,
  reason: string,
  circumstances: NonNullable<FaultRow['circumstances']>,
): Omit<FaultRow, 'id'> => ({
  fault,
  ...everywhere,
  // undici's timer is coarse: even a short connect timeout takes a second.
  ...(circumstances.connectMs === undefined
    ? {}
    : { channelSetups: ['single', 'with_second'] as const }),
  upstream: () => [stalls],
  circumstances,
  expected: {
    ...notRun,
    calls: 0,
    reason,
    health: reason === 'connect_timeout' ? 'timed_out' : 'counted',
  },
});

/** Rows in which the upstream's TLS is wrong in one way. */
const wrongTls = (
  fault: string,
  circumstances: NonNullable<FaultRow['circumstances']>,
  steps: readonly Step[] = [stalls],
): FaultRow => ({
  id: 'F04',
  fault,
  ...everywhere,
  upstream: () => steps,
  circumstances,
  expected: { ...notRun, calls: steps.includes(resets) ? 1 : 0, reason: 'tls' },
});

const overTls = ({ script }: { readonly script: string }): string =>
  script.replace('http:', 'https:');

/** Reads the head and not the body. */
const stopsReading: Step = async ({ head: nextHead, socket }) => {
  await nextHead();
  socket.pause();
};

/** Reads on once the caller has its answer, since an unread socket does not see its end. */
const stallsUnread =
  (begun: Promise<void>): Step =>
  async ({ socket, stalled, closed }) => {
    stalled();
    await begun;
    socket.resume();
    await closed;
  };

const big: Pick<FaultRow, 'kinds' | 'mounts' | 'channelSetups'> = {
  ...everywhere,
  channelSetups: ['single', 'with_second'],
  // An image's body is a megabyte at most.
  kinds: kinds.filter((kind) => kind !== 'images'),
};
const bigPrompt = 4 * 1024 * 1024;

/** Sends this text instead of a response, and then nothing. */
const garbles =
  (text: (kind: Kind, leak: string) => string): FaultRow['upstream'] =>
  (kind, leak) => [reads, sends(text(kind, leak)), stalls];

const garbled: ExpectedOfKinds = { ...mayHaveRun, reason: 'bad_response' };

/** The rows. */
export const rowsBefore: readonly FaultRow[] = [
  {
    id: 'F01',
    ...unreachable('the name does not exist', 'dns', { at: () => 'http://nowhere.fault.example' }),
  },
  {
    id: 'F01',
    ...unreachable('the resolver is overloaded', 'dns', {
      at: () => 'http://later.fault.example',
    }),
  },
  {
    id: 'F01',
    ...unreachable('the resolver does not answer', 'connect_timeout', {
      at: () => 'http://slow.fault.example',
      connectMs: 50,
    }),
    mounts: oneMount,
  },
  {
    id: 'F02',
    ...unreachable('the connection is refused', 'connect_refused', {
      at: () => 'http://127.0.0.1:1',
    }),
  },
  {
    id: 'F03',
    ...unreachable('the connection is never accepted', 'connect_timeout', {
      at: ({ blackhole }) => blackhole,
      connectMs: 50,
    }),
  },
  {
    id: 'F04',
    fault: 'valid TLS',
    ...everywhere,
    upstream: (kind) => [reads, sends(reply(kind))],
    circumstances: { certificate: 'good' },
    expected: fine,
  },
  wrongTls('TLS: the certificate has expired', { certificate: 'expired' }),
  wrongTls('TLS: the certificate is for another host', { certificate: 'wrong-host' }),
  wrongTls('TLS: an unknown authority', { certificate: 'unknown-authority' }),
  wrongTls('TLS: self-signed', { certificate: 'self-signed' }),
  wrongTls('TLS: speaks plain HTTP', { at: overTls }, [
    sends(`${ok}content-length: 0\r\n\r\n`),
    stalls,
  ]),
  wrongTls('TLS: reset in the handshake', { at: overTls }, [
    async ({ socket }) => {
      await new Promise((resolve) => socket.once('data', resolve));
    },
    resets,
  ]),
  {
    id: 'F05',
    fault: 'accepts and closes',
    ...everywhere,
    upstream: () => [ends],
    expected: mayHaveRun,
  },
  {
    id: 'F05',
    fault: 'resets at the request',
    ...everywhere,
    upstream: () => [reads, resets],
    expected: mayHaveRun,
  },
  {
    id: 'F05',
    fault: 'closes at the request',
    ...everywhere,
    upstream: () => [reads, ends],
    expected: mayHaveRun,
  },
  {
    id: 'F06',
    fault: 'a connection goes stale between two calls; an image never meets one',
    ...everywhere,
    upstream: (kind) => [reads, sends(reply(kind)), reads, resets],
    circumstances: { callsBefore: 1 },
    expected: { ...mayHaveRun, image: fine },
  },
  {
    id: 'F07',
    fault: 'no headers in time',
    ...everywhere,
    upstream: () => [reads, stalls],
    circumstances: beyondHead,
    expected: { ...timedOut, reason: 'headers_timeout' },
  },
  {
    id: 'F08',
    fault: 'half of the headers, then nothing',
    ...everywhere,
    upstream: (_kind, leak) => [reads, sends(`${ok}server: ${leak}\r\nconte`), stalls],
    circumstances: beyondHead,
    expected: { ...timedOut, reason: 'headers_timeout' },
  },
  {
    id: 'F08',
    fault: 'half of the headers, then the end',
    ...everywhere,
    upstream: (_kind, leak) => [reads, sends(`${ok}server: ${leak}\r\nconte`), ends],
    expected: mayHaveRun,
  },
  {
    id: 'F08',
    fault: 'half of the status line, then the end',
    ...everywhere,
    upstream: () => [reads, sends('HTTP/1.1 20'), ends],
    expected: mayHaveRun,
  },
  {
    id: 'F09',
    fault: 'a garbled status line',
    ...everywhere,
    upstream: garbles((_kind, leak) => `HTTQ/9 ${leak}\r\n\r\n`),
    circumstances: { closesConnection: true },
    expected: garbled,
  },
  {
    id: 'F10',
    fault: 'one header of 40 kB',
    ...everywhere,
    upstream: garbles((_kind, leak) => `${ok}x-big: ${leak.padEnd(40_000, 'x')}\r\n\r\n`),
    circumstances: { closesConnection: true },
    expected: garbled,
  },
  {
    id: 'F10',
    fault: 'a thousand headers',
    ...everywhere,
    upstream: garbles(
      (_kind, leak) =>
        `${ok}${Array.from({ length: 1_000 }, (_, at) => `x-${at}: ${leak}\r\n`).join('')}\r\n`,
    ),
    circumstances: { closesConnection: true },
    expected: garbled,
  },
  {
    id: 'F11',
    fault: 'two lengths',
    ...everywhere,
    upstream: garbles(() => `${ok}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`),
    circumstances: { closesConnection: true },
    expected: garbled,
  },
  {
    id: 'F11',
    fault: 'a length and chunks',
    ...everywhere,
    upstream: garbles(
      () => `${ok}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    ),
    circumstances: { closesConnection: true },
    expected: garbled,
  },
  {
    id: 'F12',
    fault: 'an unexpected 100, which undici refuses',
    ...everywhere,
    upstream: (kind) => [reads, sends('HTTP/1.1 100 Continue\r\n\r\n', reply(kind)), stalls],
    circumstances: { closesConnection: true },
    expected: mayHaveRun,
  },
  {
    id: 'F13',
    fault: 'early hints and a 102 come first',
    ...everywhere,
    upstream: (kind, leak) => [
      reads,
      sends(head('103 Early Hints', { link: leak }), head('102 Processing', leaking(leak))),
      sends(reply(kind)),
    ],
    expected: fine,
  },
  {
    id: 'F14',
    fault: 'an unexpected 101',
    ...everywhere,
    upstream: garbles((_kind, leak) =>
      head('101 Switching Protocols', { upgrade: 'x', connection: 'upgrade', server: leak }),
    ),
    circumstances: { closesConnection: true },
    expected: mayHaveRun,
  },
  {
    id: 'F15',
    fault: 'answers 413 before it has read 4 MiB',
    ...big,
    upstream: (_kind, _leak, begun) => [
      stopsReading,
      sends(answer(413, '{"error":{"message":"Too large."}}')),
      stallsUnread(begun),
    ],
    circumstances: { promptBytes: bigPrompt, forwardsMessage: true },
    expected: { ...refused, callerGets: 'body_too_large' },
  },
  {
    id: 'F15',
    fault: 'answers 401 before it has read 4 MiB',
    ...big,
    upstream: (_kind, leak, begun) => [stopsReading, sends(answer(401, leak)), stallsUnread(begun)],
    circumstances: { promptBytes: bigPrompt },
    expected: { ...notRun, reason: 'upstream_auth_error', health: 'refused', lasts: true },
  },
  {
    id: 'F15',
    fault: 'stops reading within a body of 4 MiB',
    ...big,
    upstream: (_kind, _leak, begun) => [stopsReading, stallsUnread(begun)],
    circumstances: { promptBytes: bigPrompt, ...beyondHead },
    expected: { ...timedOut, reason: 'headers_timeout' },
  },
  {
    id: 'F16',
    fault: 'of two addresses the first refuses',
    ...everywhere,
    upstream: (kind) => [reads, sends(reply(kind))],
    circumstances: { at: ({ script }) => script.replace('127.0.0.1', 'two.fault.example') },
    expected: fine,
  },
];
