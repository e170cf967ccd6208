// suite: slow
/** A caller that does not read is distinguished from an upstream that sends nothing. */
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway-options.ts';
import type { ReplyBody } from '../../../src/http.ts';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import { gatewayInProcess, type InProcessGateway } from '../../support/gateway-in-process.ts';
import {
  events,
  headersOf,
  heldNanos,
  sampleRequests,
  streamBeginnings,
} from '../../support/models.ts';
import { pass, turns } from '../ports/failing.ts';

/** More than the buffers between the gateway and a caller hold. */
const much = 'x'.repeat(100_000);
const muchText = events({ choices: [{ index: 0, delta: { content: much } }] });

/** A caller that reads chunks only when the test asks for it. */
interface Slow {
  readonly isGone: () => boolean;
  readonly take: () => Promise<void>;
}

const callers: readonly (readonly [string, (body: ReplyBody) => Slow])[] = [
  ['as a response is', slowWritable],
  ['as Koa reads', slowReadable],
];

describe.each(callers)('a caller that does not read, served through %s', (_how, readBy) => {
  it('counts as disconnected after 30 s: the upstream is aborted, its output charged', async () => {
    const { set: harness, up, caller } = await served('chatStream', readBy);
    up.write(muchText);

    await pass(harness.clock, 29_000);
    const before = [caller.isGone(), up.abortReason];
    await pass(harness.clock, 2_000);

    expect(before).toEqual([false, undefined]);
    expect(caller.isGone()).toBe(true);
    // While being read on for its usage, it has sent more than is read on for that.
    up.write(muchText);
    await turns();
    expect(up.abortReason).toBe('aborted');
    const record = await harness.nextRecord();
    expect(record).toMatchObject({
      status: 499,
      outcome: 'caller_left',
      reason: 'caller_stalled',
      basis: 'counted',
    });
    expect(record.chargeNanos).toBeGreaterThan(0n);
    expect(await harness.state()).toMatchObject({ held: 0n, inFlight: 0 });
  });

  it('stays connected while it reads something now and then', async () => {
    const { set: harness, up, caller } = await served('chatStream', readBy);

    for (let round = 0; round < 10; round += 1) {
      up.write(muchText);
      await pass(harness.clock, 20_000);
      await caller.take();
      await turns();
    }

    expect(caller.isGone()).toBe(false);
    expect(up.abortReason).toBeUndefined();
  });

  it('is not the upstream’s fault, whose silence does not count meanwhile', async () => {
    const longTimeouts = {
      callerStallMs: 600_000,
      timeouts: { idleMs: 10_000, firstTokenMs: 20_000 },
    };
    const { set: harness, up, caller } = await served('chatStream', readBy, longTimeouts);
    up.write(muchText);
    await pass(harness.clock, 300_000);
    const reasonBefore = up.abortReason;
    await caller.take();

    await pass(harness.clock, 11_000);

    expect(reasonBefore).toBeUndefined();
    expect(up.abortReason).toBe('idle_timeout');
  });

  it('does not get its image, which continues, is finished, and is charged', async () => {
    const { set: harness, up, caller } = await served('image', readBy);
    up.write(`"created":1,"data":[{"b64_json":"${'A'.repeat(200_000)}`);
    await pass(harness.clock, 31_000);
    const [isGone, abortReason] = [caller.isGone(), up.abortReason];

    up.write('AAAA"}]}');
    up.end();

    expect([isGone, abortReason]).toEqual([true, undefined]);
    expect(await harness.nextRecord()).toMatchObject({ outcome: 'complete', chargeNanos: 500n });
    expect(await harness.state()).toEqual({ held: 0n, used: heldNanos.image, inFlight: 0 });
  });
});

it('a reply whose first chunk is too large for its caller counts too', async () => {
  const harness = gatewayInProcess();
  const { body } = await opened(harness, 'chatStream', muchText);
  const caller = slowWritable(body);

  await pass(harness.clock, 31_000);

  expect(caller.isGone()).toBe(true);
  expect(await harness.nextRecord()).toMatchObject({ reason: 'caller_stalled' });
});

it('a response whose destroy() throws still ends its call', async () => {
  const harness = gatewayInProcess();
  const { body } = await opened(harness, 'chatStream', muchText);
  const out = new Writable({ write: () => {} });
  out.destroy = () => {
    throw new Error('host');
  };
  body.sendTo(out);

  await pass(harness.clock, 31_000);

  expect(await harness.nextRecord()).toMatchObject({ reason: 'caller_stalled' });
});

/** A call whose reply has begun and is being sent to a slow caller. */
async function served(
  kind: 'chatStream' | 'image',
  readBy: (body: ReplyBody) => Slow,
  options: Partial<GatewayOptions> = {},
): Promise<{ readonly set: InProcessGateway; readonly up: DrivenCall; readonly caller: Slow }> {
  const beginning = {
    chatStream: streamBeginnings.chatStream,
    image: `{"usage":null,${' '.repeat(70_000)}`,
  };
  const harness = gatewayInProcess({ options });
  const { up, body } = await opened(harness, kind, beginning[kind]);
  const caller = readBy(body);
  await turns();
  return { set: harness, up, caller };
}

/** A streamed reply that nobody reads yet. */
async function opened(
  { gateway, upstream }: InProcessGateway,
  kind: 'chatStream' | 'image',
  beginning: string,
): Promise<{ readonly up: DrivenCall; readonly body: ReplyBody }> {
  const headers = { authorization: 'Bearer caller-secret' };
  const { path, body: requested } = sampleRequests[kind];
  const answer = gateway.handle({
    method: 'POST',
    path,
    search: '',
    headers,
    rawHeaders: Object.entries(headers).flat(),
    body: Buffer.from(JSON.stringify(requested)),
    onClose: () => {},
  });
  const up = await upstream.next();
  up.respond(200, headersOf(kind));
  up.write(beginning);
  const { body } = await answer;
  if (body instanceof Uint8Array) throw new Error('The reply did not stream.');
  return { up, body };
}

function slowWritable(body: ReplyBody): Slow {
  const taken: (() => void)[] = [];
  const out = new Writable({
    write: (_chunk, _encoding, done) => {
      taken.push(done);
    },
  });
  body.sendTo(out);
  const take = async (): Promise<void> => {
    // Reading a chunk lets the next one come.
    for (let done = taken.shift(); done !== undefined; done = taken.shift()) {
      done();
      await turns();
    }
  };
  return { isGone: () => out.destroyed, take };
}

function slowReadable(body: ReplyBody): Slow {
  const stream = body.readable();
  const take = async (): Promise<void> => {
    // Node 26 returns one chunk at a time, earlier versions all that are waiting.
    while (stream.read() !== null) await turns();
  };
  return { isGone: () => stream.destroyed, take };
}
