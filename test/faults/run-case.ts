/**
 * Runs one case of the matrix: a gateway with memory stores and a fake clock, behind a mount, in
 * front of the faulty upstream alone or together with a healthy one.
 */

import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'vitest';
import type { GatewayEvent } from '../../src/events/events.ts';
import { issueKey } from '../../src/issue-key.ts';
import type { Channel, Model } from '../../src/ports/models/catalog.ts';
import type { UpstreamClient } from '../../src/ports/upstream-client.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { undiciClient } from '../../src/upstream/undici-client.ts';
import {
  type Balance,
  gatewayInProcess,
  type InProcessGateway,
} from '../support/gateway-in-process.ts';
import { type Answer, call } from './callers/caller.ts';
import { type Canaries, canaries, found, leakOf } from './canaries.ts';
import { type ChannelHealth, healthOf } from './health.ts';
import { caseHeader, type Hosts } from './hosts.ts';
import {
  type Kind,
  keyHeadersOf,
  priceOf,
  protocolOf,
  relayingOf,
  replyOf,
  requestOf,
  typeOf,
} from './kinds.ts';
import { type RawUpstream, rawUpstream, reads, type Script, sends } from './raw-upstream.ts';
import type { ChannelSetup, FaultRow, MountName } from './rows/row.ts';

/** The certificate authority that the gateway trusts. */
const authority = readFileSync(new URL('certificates/authority.pem', import.meta.url), 'utf8');

/** One case of a row. */
export interface Case {
  readonly id: string;
  readonly row: FaultRow;
  readonly kind: Kind;
  readonly mount: MountName;
  readonly channelSetup: ChannelSetup;
}

/** The results of a case. */
export interface Outcome {
  readonly answer: Answer;
  readonly record: UsageRecord | undefined;
  readonly records: number;
  readonly events: readonly GatewayEvent[];
  /** Before the last call, and after it. */
  readonly quota: { readonly before: Balance; readonly after: Balance };
  /** The calls to the faulty and to the healthy upstream, during the last call. */
  readonly calls: readonly [number, number];
  readonly connections: number;
  readonly health: ChannelHealth;
  readonly nowMs: number;
  readonly leaks: readonly string[];
}

/** Runs the case, and closes everything at the end. */
export async function runCase(testCase: Case, hosts: Hosts): Promise<Outcome> {
  const { row, kind } = testCase;
  const { at, certificate } = row.circumstances ?? {};
  const addressOf = (script: string): string =>
    at === undefined ? script : at({ script, blackhole: hosts.blackhole });
  let signalBegun: () => void = () => {};
  const begun = new Promise<void>((resolve) => {
    signalBegun = resolve;
  });
  const faulty = await rawUpstream(
    (origin) => row.upstream(kind, leakOf(canariesAt(addressOf(origin))), begun),
    { certificate },
  );
  const healthy = await rawUpstream(() => healthyScript(kind));
  const address = addressOf(faulty.origin);
  const running = gatewayFor(testCase, address, healthy.origin);
  const stop = hosts.serve(testCase.id, running.gateway);
  try {
    return await runCalls(testCase, running, {
      faulty,
      healthy,
      address,
      onFirstChunk: signalBegun,
      printed: hosts.printed,
      origin: hosts.originOf(testCase.mount),
    });
  } finally {
    stop();
    await running.gateway.close({ drainMs: 1 });
    expect(await running.left()).toEqual([]);
    await Promise.all([faulty.idle(), healthy.idle()]);
    await Promise.all([faulty.close(), healthy.close()]);
  }
}

interface Environment {
  readonly faulty: RawUpstream;
  readonly healthy: RawUpstream;
  /** The origin of the faulty channel. */
  readonly address: string;
  /** The output of the process. */
  readonly printed: () => string;
  /** Signals to the script that the caller has received something. */
  readonly onFirstChunk: () => void;
  /** The origin of the gateway. */
  readonly origin: string;
}

async function runCalls(
  testCase: Case,
  running: RunningGateway,
  environment: Environment,
): Promise<Outcome> {
  const { row, kind } = testCase;
  const { faulty, healthy, address, onFirstChunk, origin } = environment;
  const { promptBytes, closesConnection = false, forwardsMessage } = row.circumstances ?? {};
  const callsBefore = callsBeforeOf(testCase);
  const send = (): Promise<Answer> =>
    call(
      origin,
      requestOf(kind, promptBytes),
      headersOf(testCase, running.callerKey),
      onFirstChunk,
    );

  for (let before = 0; before < callsBefore; before += 1) {
    const { status } = await send();
    if (status !== 200 && testCase.channelSetup !== 'repeated')
      throw new Error(`the call before: ${status}`);
    await running.ended(before + 1);
  }
  const before = await running.state('k');
  const callsOfOthers = [faulty.calls, healthy.calls] as const;
  const answering = send();
  await passTime(row, running, faulty, answering);
  const answer = await answering;
  await running.ended(callsBefore + 1);
  if (closesConnection) await faulty.idle();

  const { gateway, events, records } = running;
  const secret: Canaries = {
    ...canariesAt(address),
    callerKey: running.callerKey,
  };
  const head = { status: answer.status, headers: answer.headers };
  const succeeded = answer.status === 200 && !answer.isCut;
  const { prompt: _prompt, ...hidden } = secret;
  return {
    answer,
    record: records.at(-1),
    records: records.length,
    events,
    quota: { before, after: await running.state('k') },
    calls: [faulty.calls - callsOfOthers[0], healthy.calls - callsOfOthers[1]],
    connections: faulty.connections,
    health: healthOf(gateway, 'faulty', 'm'),
    nowMs: running.clock.now(),
    leaks: [
      ...found({ ...secret }, { head, events, records, gateway, printed: environment.printed() }),
      // A forwarded error message may contain the caller's own prompt.
      ...found(forwardsMessage ? hidden : { ...secret }, { body: succeeded ? '' : answer.text }),
    ],
  };
}

/** Five failures in a row open the circuit of a channel. */
const opensAfter = 5;

/** The number of calls before the one that is checked. */
export function callsBeforeOf({ row, channelSetup }: Case): number {
  return channelSetup === 'repeated' ? opensAfter - 1 : (row.circumstances?.callsBefore ?? 0);
}

/** Advances the gateway's clock, second by second, until it has answered. */
async function passTime(
  { circumstances }: FaultRow,
  { clock, headArrived }: RunningGateway,
  faulty: RawUpstream,
  answering: Promise<Answer>,
): Promise<void> {
  const { advances } = circumstances ?? {};
  if (advances === undefined) return;
  await faulty.stalled;
  if (advances.afterStallIn === 'body') await headArrived;
  let isAnswered = false;
  const onAnswer = (): void => {
    isAnswered = true;
  };
  answering.then(onAnswer, onAnswer);
  for (let passedMs = 0; passedMs < advances.ms && !isAnswered; passedMs += 1_000) {
    clock.advance(1_000);
    await setImmediate();
  }
}

/** The gateway of one case. */
interface RunningGateway extends InProcessGateway {
  readonly callerKey: string;
  /** Resolves when the head of a response has arrived from upstream. */
  readonly headArrived: Promise<void>;
}

function gatewayFor(
  { row, kind, channelSetup }: Case,
  faulty: string,
  healthy: string,
): RunningGateway {
  const { secret: callerKey, key } = issueKey({ id: 'k', group: 'g', limitNanos: 10n ** 12n });
  const { connectMs, certificate } = row.circumstances ?? {};
  const upstream = watchingHeads(undiciClient(certificate === undefined ? {} : { ca: authority }));
  const faultyChannel = channelOf(kind, 'faulty', faulty, 0);
  const healthyChannel = channelOf(kind, 'healthy', healthy, 1);
  const harness = gatewayInProcess({
    runsBesideOthers: true,
    models: [
      modelOf(kind, channelSetup === 'single' ? [faultyChannel] : [faultyChannel, healthyChannel]),
    ],
    options: {
      keys: memoryKeyStore({ keys: [{ secret: callerKey, key }] }),
      upstream,
      ...(connectMs === undefined ? {} : { timeouts: { connectMs } }),
    },
  });
  return { ...harness, callerKey, headArrived: upstream.headArrived };
}

/** Wraps the client to see when the head of a response has arrived. */
function watchingHeads(
  client: UpstreamClient,
): UpstreamClient & { readonly headArrived: Promise<void> } {
  let onHead: () => void = () => {};
  const headArrived = new Promise<void>((resolve) => {
    onHead = resolve;
  });
  return {
    headArrived,
    send: async (request) => {
      const response = await client.send(request);
      onHead();
      return response;
    },
    close: () => client.close(),
  };
}

function channelOf(kind: Kind, id: string, origin: string, priority: number): Channel {
  return {
    id,
    ...relayingOf(kind),
    baseUrl: `${origin}/v1`,
    credential: canaries.upstreamKey,
    priority,
    weight: 1,
  };
}

function modelOf(kind: Kind, channels: readonly Channel[]): Model {
  return {
    id: 'm',
    vendor: 'Acme',
    protocols: [protocolOf(kind).name],
    groups: ['g'],
    price: priceOf(kind),
    maxOutputTokens: 100,
    channels,
  };
}

function headersOf({ id, kind }: Case, key: string): Readonly<Record<string, string>> {
  return { ...keyHeadersOf(kind, key), [caseHeader]: id };
}

function healthyScript(kind: Kind): Script {
  const body = replyOf(kind);
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${typeOf(kind)}\r\n`;
  return [reads, sends(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)];
}

function canariesAt(origin: string): Canaries {
  return { ...canaries, callerKey: '', upstreamHost: new URL(origin).host };
}
