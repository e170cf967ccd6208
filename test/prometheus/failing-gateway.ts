/**
 * A gateway that is scraped once a minute of its clock while something breaks and is repaired: its
 * metrics as Prometheus would have stored them.
 */

import { pass, turns } from '../stages/ports/failing.ts';
import type { CallHandler, DrivenCall } from '../support/driven-upstream.ts';
import type { CallerRequest } from '../support/gateway-in-process.ts';
import { completeReply, type Kind, sampleRequests } from '../support/models.ts';
import { type FaultyGateway, faultyGateway } from './troubled-gateway.ts';

/** The gateway, and what a failure may change. */
export interface FailingGateway extends FaultyGateway {
  /** How the upstream of a channel answers, by its id; others reply completely. */
  readonly upstreams: Map<string, CallHandler>;
  /** What callers send in turn, every ten seconds. */
  traffic: readonly CallerRequest[];
  /** Prometheus can't reach it. */
  isDown: boolean;
  /** The process has ended, and is no target of Prometheus any more. */
  isGone: boolean;
}

/** One failure, from its beginning to its repair. */
export interface Incident {
  /** What fails. */
  readonly failure: string;
  /** The calls before and after the failure. Default: a chat. */
  readonly traffic?: readonly CallerRequest[];
  /** Makes it fail. */
  readonly begin: (gateway: FailingGateway) => unknown;
  /** What an operator does, as the runbook says. */
  readonly repair: (gateway: FailingGateway) => unknown;
  /** How long it lasts. Default: {@link usualMinutes}. */
  readonly minutes?: number;
  /** How long the alerts may take to resolve. Default: {@link usualMinutes}. */
  readonly minutesAfter?: number;
}

/** The minutes before the failure. */
export const minutesBefore = 6;
/** In which most alerts fire, or resolve. */
export const usualMinutes = 18;

/** The values of each series, one a minute; undefined where a scrape did not have it. */
export type Series = ReadonlyMap<string, readonly (string | undefined)[]>;

/** Lets an incident happen, and returns what was scraped. */
export async function scraped({
  traffic = [sampleRequests.chat],
  begin,
  repair,
  minutes = usualMinutes,
  minutesAfter = usualMinutes,
}: Incident): Promise<Series> {
  const gateway: FailingGateway = {
    ...faultyGateway({ runsBesideOthers: true }),
    upstreams: new Map(),
    traffic,
    isDown: false,
    isGone: false,
  };
  void answerUpstream(gateway);
  const scrapes: Map<string, string>[] = [];
  const serve = async (count: number): Promise<void> => {
    for (let minute = 0; minute < count; minute += 1) {
      await serveMinute(gateway);
      scrapes.push(await scrape(gateway));
    }
  };
  await serve(minutesBefore);
  await begin(gateway);
  await serve(minutes);
  gateway.traffic = traffic;
  await repair(gateway);
  await serve(minutesAfter);
  const names = new Set(scrapes.flatMap((lines) => [...lines.keys()]));
  return new Map([...names].map((name) => [name, scrapes.map((lines) => lines.get(name))]));
}

/** Lets a request come in every ten seconds; none is waited for, because some hang. */
async function serveMinute({ harness, faults, ...gateway }: FailingGateway): Promise<void> {
  for (let step = 0; step < 6; step += 1) {
    await pass(harness.clock, 5_000);
    const request = gateway.traffic[step % gateway.traffic.length];
    if (request !== undefined) void harness.start(request).reply;
    for (let turn = 0; turn < 4; turn += 1) await turns();
    faults.recordIsChanged = false;
    await pass(harness.clock, 5_000);
  }
}

async function scrape({ register, isDown, isGone }: FailingGateway): Promise<Map<string, string>> {
  if (isGone) return new Map();
  if (isDown) return new Map([['up', '0']]);
  const lines = (await register.metrics()).split('\n').filter((line) => /^[^#]/.test(line));
  return new Map([
    ['up', '1'],
    ...lines.map((line): [string, string] => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), line.slice(end + 1)];
    }),
  ]);
}

async function answerUpstream({ harness, upstreams }: FailingGateway): Promise<never> {
  for (;;) {
    const up = await harness.upstream.next();
    const [channelId = ''] = new URL(up.request.origin).hostname.split('.');
    (upstreams.get(channelId) ?? replyTo)(up);
  }
}

/** Sends a complete reply of the kind that was requested. */
export const replyTo: CallHandler = (up) => completeReply(kindOf(up))(up);

function kindOf({ request: { path, body } }: DrivenCall): Kind {
  if (path.endsWith('/images/generations')) return 'image';
  return JSON.parse(Buffer.concat(body).toString()).stream === true ? 'chatStream' : 'chat';
}
