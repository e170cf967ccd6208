// suite: slow
/**
 * A bug at every moment of a call: each function of a dialect and of a protocol throws, at each of
 * its calls in turn. The call ends all the same, with its hold settled and its events complete.
 */
import { describe, expect, it } from 'vitest';
import { pass, turns } from '../stages/ports/failing.ts';
import type { CallHandler } from '../support/driven-upstream.ts';
import {
  type CallerReply,
  type CallInProgress,
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../support/gateway-in-process.ts';
import {
  channel,
  completeReply,
  events,
  type Kind,
  kinds,
  model,
  replies,
  sampleRequests,
  streamBeginnings,
  unbounded,
} from '../support/models.ts';
import { isWhole } from '../support/sample.ts';
import { sabotage } from './sabotage.ts';

/** A call, and what its upstream and its caller do. */
interface Scenario {
  readonly name: string;
  readonly kind: Kind;
  readonly setup?: GatewaySetup;
  readonly handlers: readonly CallHandler[];
  /** Steps after the handlers have run. */
  readonly next?: (calling: CallInProgress, harness: InProcessGateway) => Promise<void>;
}

const gemini = channel({ id: 'gemini-a', dialect: 'gemini', baseUrl: 'https://g.example/v1beta' });
const anthropic = channel({
  id: 'claude-a',
  dialect: 'anthropic',
  baseUrl: 'https://a.example/v1',
});

const breaks: CallHandler = (up) => up.answer(500, { error: { message: 'overloaded' } });
const beginsOnly: CallHandler = (up) => {
  up.respond(200, { 'content-type': 'text/event-stream' });
  up.write(streamBeginnings.chatStream);
};

const courses: readonly Scenario[] = [
  ...kinds.map((kind) => ({ name: kind, kind, handlers: [completeReply(kind)] })),
  {
    name: 'a translated chat',
    kind: 'chat',
    setup: { models: [model({ channels: [gemini] })] },
    handlers: [completeReply('native')],
  },
  {
    name: 'a translated stream',
    kind: 'chatStream',
    setup: { models: [model({ channels: [gemini] })] },
    handlers: [completeReply('nativeStream')],
  },
  {
    name: 'a refusal, and a reply of another channel',
    kind: 'chatStream',
    setup: { models: [model({ channels: [channel(), { ...gemini, priority: 1 }] })] },
    handlers: [breaks, completeReply('nativeStream')],
  },
  {
    name: 'a refusal, and a fallback',
    kind: 'chat',
    setup: {
      models: [
        model({ fallbacks: ['spare'], channels: [anthropic] }),
        model({ id: 'spare', channels: [{ ...gemini, id: 'spare' }] }),
      ],
    },
    handlers: [(up) => up.answer(429, {}), completeReply('native')],
  },
  {
    name: 'a stream whose hold grows',
    kind: 'chatStream',
    setup: { models: [unbounded('chat')] },
    handlers: [beginsOnly],
    next: async (_calling, { upstream, clock }) => {
      const [call] = upstream.calls;
      call?.write(events({ choices: [{ index: 0, delta: { content: 'x'.repeat(90_000) } }] }));
      await pass(clock, 30_000);
      call?.write(replies.chatStream);
      call?.end();
    },
  },
  {
    name: 'a stream that breaks off',
    kind: 'chatStream',
    handlers: [beginsOnly],
    next: async (_calling, { upstream }) => upstream.calls[0]?.breakOff('reset'),
  },
  {
    name: 'a caller that leaves',
    kind: 'chatStream',
    handlers: [beginsOnly],
    next: async (calling, { upstream, clock }) => {
      calling.disconnect();
      await pass(clock, 5_000);
      upstream.calls[0]?.end();
    },
  },
  {
    name: 'a stream that takes too long',
    kind: 'chatStream',
    handlers: [beginsOnly],
    next: async (_calling, { clock }) => pass(clock, 700_000),
  },
];

describe.each(courses)('$name', (course) => {
  it('ends with complete events wherever the gateway fails', async () => {
    const problems: string[] = [];
    let moments = 0;
    for (let failAt = 1; ; failAt += isWhole ? 1 : 3) {
      const { called, failed } = await runWithBug(course, failAt);
      problems.push(...failed);
      // The last run had no bug.
      if (called < failAt) break;
      moments = failAt;
    }

    expect(problems).toEqual([]);
    expect(moments).toBeGreaterThan(6);
  });
});

/** Runs a call with a bug, and says what is not as it must be. */
async function runWithBug(
  { kind, setup, handlers, next }: Scenario,
  failAt: number,
): Promise<{ readonly called: number; readonly failed: readonly string[] }> {
  const { tables, called, begin } = sabotage(failAt);
  const harness = gatewayInProcess({ ...setup, handlers, tables });
  begin();
  const calling = harness.start(sampleRequests[kind]);
  const reply: Promise<CallerReply | string> = calling.reply.catch(String);
  await turns();
  await next?.(calling, harness);
  // Nothing is left to happen but time.
  await pass(harness.clock, 3_000);
  const problems = [...harness.laws.open()];
  const answer = await Promise.race([reply, turns().then(() => 'nothing')]);
  if (typeof answer === 'string') problems.push(`The caller got ${answer}.`);
  const { held, inFlight, used } = await harness.state();
  const charged = harness.laws.records().reduce((sum, one) => sum + one.chargeNanos, 0n);
  // The hold of an image in doubt waits for the host.
  const doubtful = harness.records.reduce(
    (sum, one) => sum + (one.booked ? 0n : one.heldNanos),
    0n,
  );
  if (held !== doubtful || inFlight !== 0)
    problems.push(`${held} nanos, ${inFlight} calls are held`);
  if (charged !== used) problems.push(`${charged} recorded, ${used} used`);
  for (const { channelId, inFlight: running } of harness.gateway.channels()) {
    if (running !== 0) problems.push(`${running} calls run on ${channelId}`);
  }
  const { runningCalls, openHolds, bufferedBytes } = harness.gateway.status();
  if (runningCalls + openHolds + bufferedBytes > 0) problems.push('something is still running');
  const name = called[failAt - 1];
  return { called: called.length, failed: problems.map((one) => `${name}: ${one}`) };
}
