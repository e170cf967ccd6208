/**
 * Plays one case of the matrix: a gateway of its own with memory stores and a clock that stands
 * still, behind a mount, in front of the faulty upstream alone or with a healthy one beside it.
 */
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { GatewayEvent } from '../../src/events.ts';
import { createGateway, type Gateway } from '../../src/gateway.ts';
import { issueKey } from '../../src/issue-key.ts';
import type { Channel, Model } from '../../src/ports/catalog.ts';
import { defaultPartition } from '../../src/ports/quota-input.ts';
import type { QuotaState } from '../../src/ports/quota-store.ts';
import type { UpstreamClient } from '../../src/ports/upstream-client.ts';
import type { UsageRecord } from '../../src/ports/usage-sink.ts';
import { staticCatalog } from '../../src/stores/memory/catalog.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { undiciClient } from '../../src/upstream/undici-client.ts';
import { asked, dialectOf, isNative, priceOf, replies, typeOf } from './asks.ts';
import { type Answer, call } from './caller.ts';
import { type Canaries, canaries, found, leakOf } from './canaries.ts';
import { type Standing, standingOf } from './health.ts';
import { caseHeader, type Hosts } from './hosts.ts';
import { type RawUpstream, rawUpstream, reads, type Script, says } from './raw-upstream.ts';
import type { Company, FaultRow, Kind, MountName } from './row.ts';

/** The one authority that the gateway trusts. */
const authority = readFileSync(new URL('certificates/authority.pem', import.meta.url), 'utf8');

/** One case of a row. */
export interface Case {
  readonly id: string;
  readonly row: FaultRow;
  readonly kind: Kind;
  readonly mount: MountName;
  readonly company: Company;
}

/** All that came of a case. */
export interface Outcome {
  readonly answer: Answer;
  readonly record: UsageRecord | undefined;
  readonly records: number;
  readonly events: readonly GatewayEvent[];
  /** Before the last call, and after it. */
  readonly quota: { readonly before: Balance; readonly after: Balance };
  /** Of the last call: the faulty upstream's, the healthy one's. */
  readonly calls: readonly [number, number];
  readonly connections: number;
  readonly standing: Standing;
  readonly nowMs: number;
  readonly leaks: readonly string[];
}

/** What of a quota is held and used. */
export type Balance = Pick<QuotaState, 'held' | 'used' | 'inFlight'>;

/** Plays it; whatever happens, everything is closed at the end. */
export async function playCase(play: Case, hosts: Hosts): Promise<Outcome> {
  const { row, kind } = play;
  const { at, certificate } = row.circumstances ?? {};
  const addressOf = (script: string): string =>
    at === undefined ? script : at({ script, blackhole: hosts.blackhole });
  let tellBegun: () => void = () => {};
  const begun = new Promise<void>((resolve) => {
    tellBegun = resolve;
  });
  const faulty = await rawUpstream(
    (origin) => row.upstream(kind, leakOf(canariesAt(addressOf(origin))), begun),
    { certificate },
  );
  const healthy = await rawUpstream(() => healthyScript(kind));
  const address = addressOf(faulty.origin);
  const setting = settingOf(play, address, healthy.origin);
  const stop = hosts.serve(play.id, setting.gateway);
  try {
    return await played(play, setting, {
      faulty,
      healthy,
      address,
      tellBegun,
      printed: hosts.printed,
      origin: hosts.originOf(play.mount),
    });
  } finally {
    stop();
    await setting.gateway.close({ drainMs: 1 });
    await Promise.all([faulty.idle(), healthy.idle()]);
    await Promise.all([faulty.close(), healthy.close()]);
  }
}

interface Surroundings {
  readonly faulty: RawUpstream;
  readonly healthy: RawUpstream;
  /** Where the faulty channel is. */
  readonly address: string;
  /** All that was printed. */
  readonly printed: () => string;
  /** Tells the script that the caller has read something. */
  readonly tellBegun: () => void;
  /** Where the gateway is. */
  readonly origin: string;
}

async function played(play: Case, setting: Setting, around: Surroundings): Promise<Outcome> {
  const { row, kind } = play;
  const { faulty, healthy, address, tellBegun, origin } = around;
  const { promptBytes, hangsUp = false, tellsWords } = row.circumstances ?? {};
  const callsBefore = callsBeforeOf(play);
  const ask = (): Promise<Answer> =>
    call(origin, asked(kind, promptBytes), headersOf(play, setting.callerKey), tellBegun);

  for (let before = 0; before < callsBefore; before += 1) {
    const { status } = await ask();
    if (status !== 200 && play.company !== 'again') throw new Error(`the call before: ${status}`);
    await setting.ended(before + 1);
  }
  const before = await setting.balance();
  const callsOfOthers = [faulty.calls, healthy.calls] as const;
  const answering = ask();
  await passTime(row, setting, faulty, answering);
  const answer = await answering;
  await setting.ended(callsBefore + 1);
  if (hangsUp) await faulty.idle();

  const { gateway, events, records } = setting;
  const secret: Canaries = {
    ...canariesAt(address),
    callerKey: setting.callerKey,
  };
  const head = { status: answer.status, headers: answer.headers };
  const succeeded = answer.status === 200 && !answer.isCut;
  const { prompt: _told, ...hidden } = secret;
  return {
    answer,
    record: records.at(-1),
    records: records.length,
    events,
    quota: { before, after: await setting.balance() },
    calls: [faulty.calls - callsOfOthers[0], healthy.calls - callsOfOthers[1]],
    connections: faulty.connections,
    standing: standingOf(gateway, 'faulty', 'm'),
    nowMs: setting.clock.now(),
    leaks: [
      ...found({ ...secret }, { head, events, records, gateway, printed: around.printed() }),
      // What a caller may be told of a bad request can name its own prompt.
      ...found(tellsWords ? hidden : { ...secret }, { body: succeeded ? '' : answer.text }),
    ],
  };
}

/** Five failures in a row are what ejects a channel. */
const ejectsAt = 5;

/** The calls before the one that is looked at. */
export function callsBeforeOf({ row, company }: Case): number {
  return company === 'again' ? ejectsAt - 1 : (row.circumstances?.callsBefore ?? 0);
}

/** Lets the time of the gateway go on, second by second, until it has answered. */
async function passTime(
  { circumstances }: FaultRow,
  { clock, headCame }: Setting,
  faulty: RawUpstream,
  answering: Promise<Answer>,
): Promise<void> {
  const { passes } = circumstances ?? {};
  if (passes === undefined) return;
  await faulty.stalled;
  if (passes.afterStallIn === 'body') await headCame;
  let isAnswered = false;
  const note = (): void => {
    isAnswered = true;
  };
  answering.then(note, note);
  for (let passedMs = 0; passedMs < passes.ms && !isAnswered; passedMs += 1_000) {
    clock.advance(1_000);
    await setImmediate();
  }
}

/** The gateway of one case, and all that can be seen of it. */
interface Setting {
  readonly gateway: Gateway;
  readonly clock: FakeClock;
  readonly callerKey: string;
  readonly events: readonly GatewayEvent[];
  readonly records: readonly UsageRecord[];
  /** An answer's head has come from upstream. */
  readonly headCame: Promise<void>;
  /** Resolves once so many calls are settled and logged. */
  ended(calls: number): Promise<void>;
  balance(): Promise<Balance>;
}

function settingOf({ row, kind, company }: Case, faulty: string, healthy: string): Setting {
  const clock = fakeClock();
  const { secret: callerKey, key } = issueKey({ id: 'k', group: 'g', limitNanos: 10n ** 12n });
  const quota = memoryQuotaStore({ clock });
  const usage = memoryUsageSink();
  const events: GatewayEvent[] = [];
  let notice: () => void = () => {};
  const client = noticing(undiciClient({ ca: authority }));
  const { connectMs } = row.circumstances ?? {};
  const faultyChannel = channelOf(kind, 'faulty', faulty, 0);
  const healthyChannel = channelOf(kind, 'healthy', healthy, 1);
  const gateway = createGateway({
    keys: memoryKeyStore({ keys: [{ secret: callerKey, key }] }),
    quota,
    catalog: staticCatalog([
      modelOf(kind, company === 'alone' ? [faultyChannel] : [faultyChannel, healthyChannel]),
    ]),
    usage,
    upstream: client,
    clock,
    random: () => 0,
    onEvent: (event) => {
      events.push(event);
      notice();
    },
    ...(connectMs === undefined ? {} : { timeouts: { connectMs } }),
  });
  const isEnded = (calls: number): boolean =>
    events.filter(({ type }) => type === 'call_ended').length >= calls;
  return {
    gateway,
    clock,
    callerKey,
    events,
    get records() {
      return usage.records;
    },
    headCame: client.headCame,
    ended: async (calls) => {
      while (!isEnded(calls)) {
        await new Promise<void>((resolve) => {
          notice = resolve;
        });
      }
    },
    balance: async () => {
      const state = await quota.read('k', '', defaultPartition);
      return {
        held: state?.held ?? 0n,
        used: state?.used ?? 0n,
        inFlight: state?.inFlight ?? 0,
      };
    },
  };
}

/** The client as it is, and the moment at which the head of an answer has come through it. */
function noticing(client: UpstreamClient): UpstreamClient & { readonly headCame: Promise<void> } {
  let tell: () => void = () => {};
  const headCame = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return {
    headCame,
    send: async (request) => {
      const response = await client.send(request);
      tell();
      return response;
    },
    close: () => client.close(),
  };
}

function channelOf(kind: Kind, id: string, origin: string, priority: number): Channel {
  return {
    id,
    dialect: dialectOf(kind),
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
    protocols: [kind === 'image' ? 'images' : isNative(kind) ? 'native' : 'chat'],
    groups: ['g'],
    price: priceOf(kind),
    maxOutputTokens: 100,
    channels,
  };
}

function headersOf({ id, kind }: Case, key: string): Readonly<Record<string, string>> {
  const auth = isNative(kind) ? { 'x-vendor-api-key': key } : { authorization: `Bearer ${key}` };
  return { ...auth, [caseHeader]: id };
}

function healthyScript(kind: Kind): Script {
  const body = replies[kind];
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${typeOf(kind)}\r\n`;
  return [reads, says(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)];
}

function canariesAt(origin: string): Canaries {
  return { ...canaries, callerKey: '', upstreamHost: new URL(origin).host };
}
