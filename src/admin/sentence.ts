/**
 * How the gateway is doing, in one sentence and a short list, worst first; and which ports of the
 * host were slow lately.
 */
import type { PortTimes } from '../stages/ports/port-times.ts';
import type { GatewayStatus } from '../stages/status.ts';
import type { ModelChannels } from './channel-list.ts';
import type { NearlySpent } from './key-summary.ts';
import { type LiveState, minutesUntil } from './live.ts';

/** A clause of the sentence; `href` is a route of the console. */
export interface Clause {
  readonly text: string;
  readonly href: string;
  readonly severity: 'ok' | 'warn' | 'bad';
}

/** Something that needs a person to act. */
export interface Attention {
  readonly kind: 'channel' | 'quota' | 'doubt' | 'store' | 'host' | 'settlement';
  readonly text: string;
  readonly href: string;
  /** Unix ms; undefined if it is not known since when. */
  readonly sinceMs: number | undefined;
}

export interface Situation {
  readonly state: LiveState;
  readonly nowMs: number;
  readonly models: readonly ModelChannels[];
  readonly status: GatewayStatus;
  readonly slowPorts: readonly SlowPort[];
  readonly nearlySpent: readonly NearlySpent[];
  readonly isLogDown: boolean;
}

const outStates: ReadonlySet<string> = new Set(['cooling_down', 'open', 'refused', 'off']);
/** A store that failed this recently counts as down. */
const downMs = 60_000;
const refusalMinutes = 15;
const refusalShare = 0.05;
/** Below this many requests a share is not meaningful. */
const minRequests = 20;
const maxAttention = 8;

export function sentenceOf(situation: Situation): readonly Clause[] {
  const clauses = [
    ...closing(situation),
    ...storesDown(situation),
    ...modelsOut(situation),
    ...manyRefusals(situation),
    ...channelsOut(situation),
    ...doubts(situation),
  ];
  if (clauses.length > 0) return clauses.slice(0, maxAttention);
  return [{ text: 'All is well.', href: '#/now', severity: 'ok' }];
}

function closing({ status: { isClosing } }: Situation): readonly Clause[] {
  if (!isClosing) return [];
  return [{ text: 'This process is shutting down.', href: '#/now', severity: 'bad' }];
}

function storesDown({ state, nowMs }: Situation): readonly Clause[] {
  const codes = new Map<string, Set<string>>();
  for (const { port, reason, code, lastMs } of state.ports.values()) {
    if (nowMs - lastMs >= downMs || reason === 'StoreCorrupt') continue;
    const known = codes.get(port) ?? new Set();
    codes.set(port, code === undefined ? known : known.add(code));
  }
  return [...codes].map(([port, known]) => {
    const why = known.size === 0 ? '' : ` (${[...known].join(', ')})`;
    return { text: `The port ${port} is failing${why}.`, href: '#/now', severity: 'bad' };
  });
}

function modelsOut({ models }: Situation): readonly Clause[] {
  return models
    .filter(({ channels }) => channels.length > 0 && channels.every(isOut))
    .map(({ modelId }) => ({
      text: `Every channel of ${modelId} is out.`,
      href: `#/channels?model=${encodeURIComponent(modelId)}`,
      severity: 'bad',
    }));
}

function isOut({ state, weight }: ModelChannels['channels'][number]): boolean {
  return outStates.has(state) || weight === 0;
}

function manyRefusals({ state, nowMs }: Situation): readonly Clause[] {
  const minutes = minutesUntil(state, nowMs, refusalMinutes);
  const counts = new Map<string, number>();
  let total = 0;
  for (const { complete, refused, failed, left, refusals } of minutes) {
    total += complete + refused + failed + left;
    for (const { code, count } of refusals.values()) {
      counts.set(code, (counts.get(code) ?? 0) + count);
    }
  }
  return [...counts]
    .filter(([, count]) => total >= minRequests && count / total > refusalShare)
    .sort(([, one], [, other]) => other - one)
    .map(([code, count]) => ({
      text: `${Math.round((100 * count) / total)} % of requests are refused: ${code}.`,
      href: `#/calls?code=${encodeURIComponent(code)}`,
      severity: 'warn',
    }));
}

function channelsOut({ models }: Situation): readonly Clause[] {
  const out = new Set<string>();
  for (const { channels } of models) {
    for (const { channelId, state } of channels) if (outStates.has(state)) out.add(channelId);
  }
  return [...out].map((channelId) => ({
    text: `Channel ${channelId} is out.`,
    href: `#/channels?channel=${encodeURIComponent(channelId)}`,
    severity: 'warn',
  }));
}

function doubts({ state: { inDoubt } }: Situation): readonly Clause[] {
  if (inDoubt.size === 0) return [];
  const text = inDoubt.size === 1 ? 'One call is in doubt.' : `${inDoubt.size} calls are in doubt.`;
  return [{ text, href: '#/calls?outcome=unknown', severity: 'warn' }];
}

/** What needs a person, at most eight entries, worst first. */
export function attentionOf(situation: Situation): readonly Attention[] {
  return [
    ...failingPorts(situation),
    ...failingLog(situation),
    ...refusedVersions(situation),
    ...lostSettlements(situation),
    ...waitingSettlements(situation),
    ...outChannels(situation),
    ...callsInDoubt(situation),
    ...slowAnswers(situation),
    ...nearlyOut(situation),
  ].slice(0, maxAttention);
}

function failingPorts({ state, nowMs }: Situation): readonly Attention[] {
  return [...state.ports.values()]
    .filter(({ lastMs }) => nowMs - lastMs < 15 * downMs)
    .map(({ port, operation, reason, member, problem = 'is wrong', code, cause, sinceMs }) => {
      const kind = reason === 'StoreCorrupt' ? 'host' : 'store';
      const what = cause ?? (code === undefined ? reason : `${reason} (${code})`);
      const where = member === undefined ? '' : `: ${member} of a record ${problem}`;
      return { kind, text: `${port}.${operation}: ${what}${where}`, href: '#/now', sinceMs };
    });
}

function failingLog({ isLogDown }: Situation): readonly Attention[] {
  if (!isLogDown) return [];
  const text = 'The usage log can’t be read: only the figures of this process are shown';
  return [{ kind: 'store', text, href: '#/spend', sinceMs: undefined }];
}

function refusedVersions({ state }: Situation): readonly Attention[] {
  return [...state.staleSources].map(([source, { reason, sinceMs }]) => {
    const text = `${source} is invalid, and its last good version is in use: ${reason}`;
    return { kind: 'host', text, href: '#/now', sinceMs };
  });
}

function waitingSettlements({ status: { outbox }, nowMs }: Situation): readonly Attention[] {
  const { waiting, oldestMs } = outbox;
  if (waiting === 0) return [];
  const text = `${waiting} ${waiting === 1 ? 'charge waits' : 'charges wait'} for the quota store`;
  const sinceMs = oldestMs === undefined ? undefined : nowMs - oldestMs;
  return [{ kind: 'settlement', text, href: '#/spend', sinceMs }];
}

function slowAnswers({ slowPorts }: Situation): readonly Attention[] {
  return slowPorts.map(({ port, operation, p95Ms }) => {
    const time = p95Ms === undefined ? 'longer than 5 s' : `up to ${p95Ms} ms`;
    const text = `${port}.${operation} is slow: 95 % of its answers take ${time}`;
    return { kind: 'store', text, href: '#/now', sinceMs: undefined };
  });
}

function lostSettlements({ state }: Situation): readonly Attention[] {
  const [sinceMs] = state.lostSettlements;
  if (sinceMs === undefined) return [];
  const count = state.lostSettlements.length;
  const text = `${count} ${count === 1 ? 'charge was' : 'charges were'} lost: settlement_lost`;
  return [{ kind: 'settlement', text, href: '#/spend', sinceMs }];
}

function outChannels({ models }: Situation): readonly Attention[] {
  const seen = new Map<string, Attention>();
  for (const { channels } of models) {
    for (const { channelId, state, reason, untilMs } of channels) {
      if (!outStates.has(state) || seen.has(channelId)) continue;
      const back = untilMs === undefined ? '' : `, back ${new Date(untilMs).toISOString()}`;
      const why = reason === undefined ? '' : ` (${reason})`;
      const text = `${channelId}: ${state}${why}${back}`;
      const href = `#/channels?channel=${encodeURIComponent(channelId)}`;
      seen.set(channelId, { kind: 'channel', text, href, sinceMs: undefined });
    }
  }
  return [...seen.values()];
}

function callsInDoubt({ state }: Situation): readonly Attention[] {
  return [...state.inDoubt.values()].map(({ requestId, modelId, keyId, atMs }) => ({
    kind: 'doubt',
    text: `Did ${requestId} run? ${modelId}, ${keyId}`,
    href: `#/calls/${encodeURIComponent(requestId)}`,
    sinceMs: atMs,
  }));
}

function nearlyOut({ nearlySpent }: Situation): readonly Attention[] {
  return nearlySpent.map(({ keyId, subject, percent, sinceMs }) => {
    const who = subject === keyId ? keyId : `${subject}, to which ${keyId} is charged,`;
    const text = `${who} has used ${percent} % of its limit`;
    return { kind: 'quota', text, href: `#/keys?q=${encodeURIComponent(keyId)}`, sinceMs };
  });
}

interface SlowPort {
  readonly port: string;
  readonly operation: string;
  /** 95 % of the answers took at most this long; undefined if it is above all buckets. */
  readonly p95Ms: number | undefined;
}

const windowMs = 60_000;
const slowMs = 250;
/** Below this many answers a percentile is not meaningful. */
const minAnswers = 10;

interface Sample {
  readonly atMs: number;
  readonly ports: readonly PortTimes[];
}

/**
 * Compares the counters, which only grow, with a sample that is at least a minute old; in the first
 * minute, with the start of the process.
 */
export function slowPorts(): (ports: readonly PortTimes[], nowMs: number) => readonly SlowPort[] {
  let before: Sample = { atMs: Number.NEGATIVE_INFINITY, ports: [] };
  let latest: Sample | undefined;
  return (ports, nowMs) => {
    if (latest === undefined || nowMs - latest.atMs >= windowMs) {
      before = latest ?? before;
      latest = { atMs: nowMs, ports };
    }
    return ports.flatMap((now) => slowness(now, earlier(before, now)));
  };
}

function earlier({ ports }: Sample, { port, operation }: PortTimes): PortTimes | undefined {
  return ports.find((times) => times.port === port && times.operation === operation);
}

function slowness(now: PortTimes, before: PortTimes | undefined): readonly SlowPort[] {
  const { port, operation } = now;
  const answers = now.calls - (before?.calls ?? 0);
  if (answers < minAnswers) return [];
  const wanted = 0.95 * answers;
  const bucket = now.buckets.find(
    ({ count }, index) => count - (before?.buckets[index]?.count ?? 0) >= wanted,
  );
  const isSlow = bucket === undefined || bucket.leMs > slowMs;
  return isSlow ? [{ port, operation, p95Ms: bucket?.leMs }] : [];
}
