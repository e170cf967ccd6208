/** How the gateway is doing, in one sentence and a short list, worst first. */
import { type PortName, portNames } from '../../ports/port-failure.ts';
import type { GatewayStatus } from '../../stages/status.ts';
import { explainedRefusal } from '../calls/summary.ts';
import type { ChannelRow, ModelChannels } from '../channels/list.ts';
import type { NearlySpent } from '../keys/summary.ts';
import { type LiveState, minutesUntil, type SlowPort } from './live.ts';

/** Something that is wrong, or needs a person to act. */
export interface Attention {
  /** What it concerns, for a link to the page where it is shown. */
  readonly kind: 'host' | 'store' | 'refusal' | 'channel' | 'doubt' | 'quota' | 'settlement';
  /** In words: a sentence without codes. */
  readonly text: string;
  /** What is known about the cause, such as an operation with its error, and what to do. */
  readonly detail: string | undefined;
  /** A route of the console. */
  readonly href: string;
  /** Unix ms; undefined if it is not known since when. */
  readonly sinceMs: number | undefined;
}

/** A clause of the sentence; it needs no attention if all is well. */
export interface Clause extends Attention {
  /** How urgent it is. */
  readonly severity: 'ok' | 'warn' | 'bad';
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

/** What is wrong, worst first, and each thing once; a single clause if all is well. */
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
  return [{ ...inProcess, kind: 'host', text: 'All is well.', severity: 'ok' }];
}

const inProcess = { detail: undefined, href: '#/now', sinceMs: undefined } as const;

function closing({ status: { isClosing } }: Situation): readonly Clause[] {
  if (!isClosing) return [];
  return [{ ...inProcess, kind: 'host', text: 'This process is shutting down.', severity: 'bad' }];
}

type FailingPort = LiveState['ports'] extends Map<string, infer Failing> ? Failing : never;

/** What the gateway can’t do while a port fails. */
const portWords: Readonly<Record<PortName, string>> = {
  keys: 'Keys can’t be looked up',
  sessions: 'Sessions can’t be looked up',
  failed_key_limit: 'Attempts with wrong keys can’t be counted',
  quota: 'The quota store can’t be used',
  catalog: 'Models can’t be looked up',
  guard: 'The guard fails',
  rate_limiter: 'Rate limits can’t be checked',
  usage: 'The usage log can’t be written',
  refusals: 'Refused requests can’t be recorded',
  idempotency: 'Repeated calls can’t be recognized',
  results: 'Replies to repeated calls can’t be kept',
  response_index: 'Stored responses can’t be found',
  items: 'Output items can’t be kept',
  cluster: 'Switches of channels can’t be shared',
};

function storesDown({ state, nowMs }: Situation): readonly Clause[] {
  return portNames.flatMap((port): readonly Clause[] => {
    const failures = failuresOf(state, port).filter(({ lastMs }) => nowMs - lastMs < downMs);
    if (failures.length === 0) return [];
    const sinceMs = Math.min(...failures.map((failure) => failure.sinceMs));
    const detail = [...new Set(failures.map(causeOf))].join('; ');
    const text = `${portWords[port]}.`;
    return [{ kind: 'store', text, detail, href: '#/now', sinceMs, severity: 'bad' }];
  });
}

/** A record that is invalid is for the host to correct, and no sign that the store is down. */
function failuresOf({ ports }: LiveState, port: PortName): readonly FailingPort[] {
  return [...ports.values()].filter((one) => one.port === port && one.reason !== 'StoreCorrupt');
}

/** `quota.reserve: ECONNREFUSED, connection refused`. */
function causeOf({ port, operation, reason, code, cause }: FailingPort): string {
  const what = cause ?? (code === undefined ? reason : `${reason} (${code})`);
  return `${port}.${operation}: ${what}`;
}

function modelsOut({ models }: Situation): readonly Clause[] {
  return models.filter(isModelOut).map(({ modelId, channels }) => ({
    kind: 'channel',
    text: `Every channel of ${modelId} is out.`,
    detail: channels.slice(0, maxNamed).map(outText).join('; '),
    href: `#/channels?model=${encodeURIComponent(modelId)}`,
    sinceMs: undefined,
    severity: 'bad',
  }));
}

/** How many channels of a model the detail names. */
const maxNamed = 3;

function isModelOut({ channels }: ModelChannels): boolean {
  return channels.length > 0 && channels.every(isOut);
}

function isOut({ state, weight }: ChannelRow): boolean {
  return outStates.has(state) || weight === 0;
}

/** `azure: cooling down, the rate limit of the account is reached, back 2026-11-28T…`. */
function outText({ channelId, state, meaning, reason, untilMs, weight }: ChannelRow): string {
  const what = weight === 0 ? 'weight 0' : (stateWords[state] ?? state);
  const back = untilMs === undefined ? undefined : `back ${new Date(untilMs).toISOString()}`;
  const parts = [what, meaning ?? reason, back].filter((part) => part !== undefined);
  return `${channelId}: ${parts.join(', ')}`;
}

const stateWords: Readonly<Partial<Record<ChannelRow['state'], string>>> = {
  cooling_down: 'cooling down',
  open: 'failing',
  off: 'turned off',
};

/** Of each code, how its requests are refused, as the end of a sentence about them. */
const refusalWords: Readonly<Partial<Record<string, string>>> = {
  invalid_key: 'have a key that is unknown, expired or disabled',
  model_not_allowed: 'are for a model that their key may not use',
  model_not_found: 'are for a model that the catalog does not have',
  insufficient_quota: 'have a key without enough quota',
  rate_limited: 'exceed a rate limit',
  invalid_request: 'have a body that is not valid',
  no_channel: 'find no channel that is in service',
};

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
    .map(([code, count]) => {
      const { meaning = 'for several reasons', remedy } = explainedRefusal({
        code,
        reason: undefined,
      });
      const what = refusalWords[code] ?? `are refused: ${meaning}`;
      return {
        kind: 'refusal',
        text: `${shareText(count / total)} of requests ${what}.`,
        detail: remedy,
        href: `#/calls?outcome=refused&code=${encodeURIComponent(code)}`,
        sinceMs: undefined,
        severity: 'warn',
      };
    });
}

const fractions: readonly (readonly [share: number, text: string])[] = [
  [1 / 4, 'A quarter'],
  [1 / 3, 'A third'],
  [1 / 2, 'Half'],
  [2 / 3, 'Two thirds'],
  [3 / 4, 'Three quarters'],
];

/** The percentage, or a fraction that is less than a percent away. */
function shareText(share: number): string {
  const near = fractions.find(([fraction]) => Math.abs(share - fraction) < 0.01);
  return near?.[1] ?? `${Math.round(100 * share)} %`;
}

/** Those of a model that is out are in its own clause. */
function channelsOut({ models }: Situation): readonly Clause[] {
  const named = new Set(
    models.filter(isModelOut).flatMap(({ channels }) => channels.map(({ channelId }) => channelId)),
  );
  const out = new Map<string, ChannelRow>();
  for (const { channels } of models) {
    for (const channel of channels) {
      const { channelId, state } = channel;
      if (outStates.has(state) && !named.has(channelId)) out.set(channelId, channel);
    }
  }
  return [...out].map(([channelId, channel]) => ({
    kind: 'channel',
    text: `Channel ${channelId} is out.`,
    detail: outText(channel).slice(channelId.length + 2),
    href: `#/channels?channel=${encodeURIComponent(channelId)}`,
    sinceMs: undefined,
    severity: 'warn',
  }));
}

function doubts({ state: { inDoubt } }: Situation): readonly Clause[] {
  const [first] = inDoubt.values();
  if (first === undefined) return [];
  const { requestId, modelId, keyId, atMs: sinceMs } = first;
  const isOne = inDoubt.size === 1;
  const path = isOne ? `calls/${encodeURIComponent(requestId)}` : 'calls?outcome=unknown';
  const text = isOne ? `Did ${requestId} run?` : `${inDoubt.size} calls are in doubt.`;
  const whose = isOne ? `${modelId}, ${keyId}` : `the first is ${requestId}`;
  const detail = `${whose}; look for it at the provider`;
  return [{ kind: 'doubt', text, detail, href: `#/${path}`, sinceMs, severity: 'warn' }];
}

/** What else needs a person, at most eight entries, worst first; nothing of the sentence again. */
export function attentionOf(situation: Situation): readonly Attention[] {
  return [
    ...storesFailedLately(situation),
    ...invalidRecords(situation),
    ...failingLog(situation),
    ...refusedVersions(situation),
    ...lostSettlements(situation),
    ...waitingSettlements(situation),
    ...slowAnswers(situation),
    ...nearlyOut(situation),
  ].slice(0, maxAttention);
}

function storesFailedLately({ state, nowMs }: Situation): readonly Attention[] {
  return portNames.flatMap((port): readonly Attention[] => {
    const failures = failuresOf(state, port);
    const lastMs = Math.max(...failures.map((failure) => failure.lastMs));
    if (failures.length === 0 || nowMs - lastMs < downMs || nowMs - lastMs >= 15 * downMs) {
      return [];
    }
    const detail = [...new Set(failures.map(causeOf))].join('; ');
    const text = `${portWords[port]}: the last failure`;
    return [{ kind: 'store', text, detail, href: '#/now', sinceMs: lastMs }];
  });
}

function invalidRecords({ state, nowMs }: Situation): readonly Attention[] {
  return [...state.ports.values()]
    .filter(({ reason, lastMs }) => reason === 'StoreCorrupt' && nowMs - lastMs < 15 * downMs)
    .map((failure) => {
      const { port, operation, member, problem = 'is wrong', sinceMs } = failure;
      const where = member === undefined ? causeOf(failure) : `${member} ${problem}`;
      const text = 'A record of a store is invalid';
      return {
        kind: 'host',
        text,
        detail: `${port}.${operation}: ${where}`,
        href: '#/now',
        sinceMs,
      };
    });
}

function failingLog({ isLogDown }: Situation): readonly Attention[] {
  if (!isLogDown) return [];
  const text = 'The usage log can’t be read: only the figures of this process are shown';
  return [{ kind: 'store', text, detail: undefined, href: '#/spend', sinceMs: undefined }];
}

function refusedVersions({ state }: Situation): readonly Attention[] {
  return [...state.staleSources].map(([source, { reason, sinceMs }]) => {
    const text = `${source} is invalid, and its last good version is in use`;
    return { kind: 'host', text, detail: reason, href: '#/now', sinceMs };
  });
}

function waitingSettlements({ status: { outbox }, nowMs }: Situation): readonly Attention[] {
  const { waiting, oldestMs } = outbox;
  if (waiting === 0) return [];
  const text = `${waiting} ${waiting === 1 ? 'charge waits' : 'charges wait'} for the quota store`;
  const sinceMs = oldestMs === undefined ? undefined : nowMs - oldestMs;
  return [{ kind: 'settlement', text, detail: undefined, href: '#/spend', sinceMs }];
}

function slowAnswers({ slowPorts }: Situation): readonly Attention[] {
  return slowPorts.map(({ port, operation, p95Ms }) => {
    const time = p95Ms === undefined ? 'longer than 5 s' : `up to ${p95Ms} ms`;
    const text = `${port}.${operation} is slow: 95 % of its answers take ${time}`;
    return { kind: 'store', text, detail: undefined, href: '#/now', sinceMs: undefined };
  });
}

function lostSettlements({ state }: Situation): readonly Attention[] {
  const [sinceMs] = state.lostSettlements;
  if (sinceMs === undefined) return [];
  const count = state.lostSettlements.length;
  const text = `${count} ${count === 1 ? 'charge was' : 'charges were'} lost`;
  const detail = 'the event settlement_lost has the amount';
  return [{ kind: 'settlement', text, detail, href: '#/spend', sinceMs }];
}

function nearlyOut({ nearlySpent }: Situation): readonly Attention[] {
  return nearlySpent.map(({ keyId, subject, percent, sinceMs }) => {
    const who = subject === keyId ? keyId : `${subject}, to which ${keyId} is charged,`;
    const text = `${who} has used ${percent} % of its limit`;
    const href = `#/keys?q=${encodeURIComponent(keyId)}`;
    return { kind: 'quota', text, detail: undefined, href, sinceMs };
  });
}
