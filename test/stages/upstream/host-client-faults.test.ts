// suite: search
/**
 * Every member that a host's own upstream client hands over, failing in every way, for every kind
 * of call, while the call is replied to, times out, or loses its caller: the process notices
 * nothing, the caller gets an error of its API, and the hold ends with one usage record.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type {
  ByteSink,
  UpstreamBody,
  UpstreamClient,
  UpstreamRequest,
} from '../../../src/ports/upstream-client.ts';
import { gatewayInProcess, type InProcessGateway } from '../../support/gateway-in-process.ts';
import { headersOf, type Kind, kinds, replies, sampleRequests } from '../../support/models.ts';
import { inTime, turns } from '../ports/failing.ts';

type Way = 'throws' | 'rejects' | 'rejects late' | 'hangs' | 'answers rubbish';
const ways: readonly Way[] = ['throws', 'rejects', 'rejects late', 'hangs', 'answers rubbish'];

/** Fails in this way, after what the member should do. */
function fail(way: Way): unknown {
  switch (way) {
    case 'throws':
      throw new TypeError('a mistake of the host');
    case 'rejects':
      return Promise.reject(new TypeError('a mistake of the host'));
    case 'rejects late':
      return turns().then(() => Promise.reject(undefined));
    case 'hangs':
      return new Promise(() => {});
    case 'answers rubbish':
      return 'rubbish';
  }
}

const bodyMembers = ['takeWhole', 'start', 'pause', 'resume', 'abort'] as const;
type BodyMember = (typeof bodyMembers)[number];

/** How much of its reply the client delivers. */
type Delivery = 'all at once' | 'slowly' | 'half' | 'nothing';
const deliveries: readonly Delivery[] = ['all at once', 'slowly', 'half', 'nothing'];

/** A body that keeps to the contract, and is so long that its reader asks for pauses. */
function sound(kind: Kind, delivery: Delivery): UpstreamBody {
  return {
    takeWhole: () => undefined,
    start: (sink) => deliver(sink, paddedReply(kind), delivery),
    pause: () => {},
    resume: () => {},
    abort: () => {},
  };
}

function deliver(sink: ByteSink, bytes: Buffer, delivery: Delivery): void {
  if (delivery === 'nothing') return;
  const half = Math.floor(bytes.length / 2);
  if (delivery === 'all at once') {
    sink.write(bytes);
    return sink.end();
  }
  sink.write(bytes.subarray(0, half));
  if (delivery === 'half') return;
  setImmediate(() => {
    sink.write(bytes.subarray(half));
    setImmediate(() => sink.end());
  });
}

function paddedReply(kind: Kind): Buffer {
  return Buffer.from(replies[kind].replace('Hi!', 'Hi! '.repeat(50_000)));
}

interface Fault {
  readonly name: string;
  readonly client: (kind: Kind, delivery: Delivery) => UpstreamClient;
}

function clientOf(send: UpstreamClient['send']): UpstreamClient {
  return { send, close: async () => {} };
}

/** The reply of a client whose body or head differs from a correct one. */
function answering(name: string, change: (body: UpstreamBody, kind: Kind) => object): Fault {
  return {
    name,
    client: (kind, delivery) => {
      const body = sound(kind, delivery);
      const response = { status: 200, headers: headersOf(kind), body };
      return clientOf(async () => Object.assign(response, change(body, kind)));
    },
  };
}

const failingMembers: readonly Fault[] = bodyMembers.flatMap((member) =>
  ways.map((way) =>
    answering(`${member} ${way}`, (body) => ({
      body: { ...body, [member]: failing(body, member, way) },
    })),
  ),
);

/** Does what the member should do, and then fails. */
function failing(body: UpstreamBody, member: BodyMember, way: Way): (given: never) => unknown {
  return (given) => {
    body[member](given);
    return fail(way);
  };
}

/** Values that are neither functions nor chunks nor objects. */
const rubbish: readonly unknown[] = [
  undefined,
  null,
  'text',
  5,
  {},
  [],
  Symbol('rubbish'),
  throwing(),
];

/** Whatever is read of it throws. */
function throwing(): unknown {
  return new Proxy(
    {},
    {
      get: () => {
        throw new Error('a getter of the host');
      },
    },
  );
}

const wrongMembers: readonly Fault[] = bodyMembers.flatMap((member) =>
  rubbish.map((value, index) =>
    answering(`${member} is rubbish ${index}`, (body) => ({ body: { ...body, [member]: value } })),
  ),
);

const wrongStatuses: readonly Fault[] = [Number.NaN, -1, 0, 101, 200.5, 1e9].map((status) =>
  answering(`the status is ${status}`, () => ({ status })),
);

const wrongHeads: readonly Fault[] = rubbish.flatMap((value, index) => [
  answering(`the body is rubbish ${index}`, () => ({ body: value })),
  answering(`the status is rubbish ${index}`, () => ({ status: value })),
  ...(isObject(value) ? [] : [answering(`the headers are ${index}`, () => ({ headers: value }))]),
  ...(value === undefined || value === null || value === 'text'
    ? []
    : [
        answering(`the content type is rubbish ${index}`, () => ({
          headers: { 'content-type': value },
        })),
      ]),
  {
    name: `the response is rubbish ${index}`,
    client: () => clientOf(() => Promise.resolve(untypedValue(value))),
  },
]);

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** A value that its type does not allow. */
function untypedValue(value: unknown): never {
  const holder: { value: never } = JSON.parse('{}');
  return Object.assign(holder, { value }).value;
}

/** A sink that is given rubbish in the middle of a reply. */
const wrongChunks: readonly Fault[] = rubbish.flatMap((value, index) => [
  answering(`a chunk is rubbish ${index}`, (body, kind) => ({
    body: {
      ...body,
      start: (sink: ByteSink) => {
        deliver(sink, paddedReply(kind), 'half');
        sink.write(untypedValue(value));
        sink.end();
      },
    },
  })),
  answering(`the body fails with rubbish ${index}`, (body, kind) => ({
    body: {
      ...body,
      start: (sink: ByteSink) => {
        deliver(sink, paddedReply(kind), 'half');
        setImmediate(() => sink.fail(untypedValue(value)));
      },
    },
  })),
  {
    name: `send rejects with rubbish ${index}`,
    client: () => clientOf(() => Promise.reject(value)),
  },
  {
    name: `send rejects with an UpstreamError of rubbish ${index}`,
    client: () =>
      clientOf(() =>
        Promise.reject(
          Object.assign(new Error('a mistake'), {
            name: 'UpstreamError',
            stage: value,
            reason: value,
          }),
        ),
      ),
  },
  {
    name: `what aborts the request is rubbish ${index}`,
    client: () =>
      clientOf(({ onAbort }) => {
        onAbort(untypedValue(value));
        return new Promise(() => {});
      }),
  },
]);

const failingAborts: readonly Fault[] = ways.flatMap((way) => [
  {
    name: `what aborts the request ${way}, and no response comes`,
    client: () => clientOf(({ onAbort }) => abortable(onAbort, way, new Promise(() => {}))),
  },
  {
    name: `what aborts the request ${way}, in the reply`,
    client: (kind, delivery) =>
      clientOf(({ onAbort }) => {
        const body = sound(kind, delivery);
        return abortable(
          onAbort,
          way,
          Promise.resolve({ status: 200, headers: headersOf(kind), body }),
        );
      }),
  },
  { name: `send ${way}`, client: () => clientOf(() => untypedValue(fail(way))) },
]);

function abortable<T>(onAbort: UpstreamRequest['onAbort'], way: Way, response: T): T {
  onAbort(() => untypedValue(fail(way)));
  return response;
}

const faults: readonly Fault[] = [
  ...failingMembers,
  ...wrongMembers,
  ...wrongStatuses,
  ...wrongHeads,
  ...wrongChunks,
  ...failingAborts,
];

/** What reached the process during a test. */
let escaped: unknown[] = [];
const note = (error: unknown): void => {
  escaped.push(error);
};

beforeEach(() => {
  escaped = [];
  process.on('unhandledRejection', note);
  process.on('uncaughtException', note);
});

afterEach(() => {
  process.off('unhandledRejection', note);
  process.off('uncaughtException', note);
});

/** Exactly one record, no hold that is not accounted for, and nothing that looks like a bug. */
async function expectEnded(
  { events, records, state }: InProcessGateway,
  about: string,
): Promise<void> {
  await turns();
  await turns();
  expect(escaped, about).toEqual([]);
  expect(records.length, about).toBe(1);
  const { held, used, inFlight } = await state();
  expect(inFlight, about).toBe(0);
  const [record] = records;
  const isInDoubt = record?.outcome === 'unknown' && held > 0n;
  expect(held, about).toBe(isInDoubt ? (record?.heldNanos ?? 0n) : 0n);
  expect(used, about).toBe(record?.chargeNanos);
  expect(
    events.filter(({ type }) => type === 'internal_error'),
    about,
  ).toEqual([]);
}

describe.each(kinds)('a call for %s', (kind) => {
  it.each(
    deliveries,
  )('ends whatever the client does wrong, having delivered %s', async (delivery) => {
    for (const { name, client } of faults) {
      const gateway = gatewayInProcess({ options: { upstream: client(kind, delivery) } });
      const calling = gateway.start(sampleRequests[kind]);

      const { status, text } = await inTime(gateway.clock, calling.reply);

      expect([200, 502, 504], `${name}: ${text.slice(0, 200)}`).toContain(status);
      await expectEnded(gateway, name);
    }
  });

  it.each(
    deliveries,
  )('ends when its caller leaves a client that has delivered %s', async (delivery) => {
    for (const { name, client } of faults) {
      const gateway = gatewayInProcess({ options: { upstream: client(kind, delivery) } });
      const calling = gateway.start(sampleRequests[kind]);
      await turns();

      calling.disconnect();

      await inTime(gateway.clock, gateway.ended(1));
      await expectEnded(gateway, name);
    }
  });
});

it.each([
  ...wrongMembers,
  ...wrongHeads,
])('a fault counts against the channel, and the caller gets 502: $name', async ({ client }) => {
  const { call, events, nextRecord } = gatewayInProcess({
    options: { upstream: client('chat', 'all at once') },
  });

  expect((await call(sampleRequests.chat)).status).toBe(502);

  const { reason = '', chargeNanos } = await nextRecord();
  // A promise of a response that can't be read is one that rejects.
  expect(reason).toMatch(/^(?:client_)?failed$/);
  expect(chargeNanos).toBe(0n);
  expect(events).toContainEqual(expect.objectContaining({ type: 'attempt_ended', reason }));
});

it.each(ways)('a reply that was delivered before start %s is charged as any other', async (way) => {
  for (const kind of kinds) {
    const { client } = answering('start', (body) => ({
      body: { ...body, start: failing(body, 'start', way) },
    }));
    const { call, nextRecord } = gatewayInProcess({
      options: { upstream: client(kind, 'all at once') },
    });

    expect((await call(sampleRequests[kind])).status).toBe(200);

    expect(await nextRecord()).toMatchObject({ outcome: 'complete' });
  }
});
