/** The channels of the fake gateway, by model, by account and by replica, for console-fake.ts. */
import { explained } from '../../../src/admin/calls/summary.ts';
import type { AccountPage, AccountRow, Admin, ModelChannels } from '../../../src/admin/index.ts';
import type { FailureReason } from '../../../src/failure-reasons.ts';
import { nowMs } from './data.ts';

type Cluster = ReturnType<Admin['channels']['replicas']>;

/** The channels of a gateway with these models. */
export function fakeChannels(
  real: Admin['channels'],
  all: readonly ModelChannels[] = models(),
): Admin['channels'] {
  return {
    ...real,
    list: () => all,
    accounts: async () => accountPage(all),
    replicas: () => cluster(all),
    test: async (_actor, channelId, { modelId = 'gpt-5-mini' } = {}) => ({
      ...{ channelId, modelId, upstreamModel: `${channelId}-model`, passed: true, status: 200 },
      ...{ reason: undefined, durationMs: 812, inputTokens: 14, outputTokens: 3 },
      ...{ chargeNanos: 3_900n, costNanos: 2_600n, ...explained(undefined) },
    }),
  };
}

function accountPage(all: readonly ModelChannels[]): AccountPage {
  const ids = [...new Set(all.flatMap(({ channels }) => channels.map((row) => row.channelId)))];
  const data = ids.flatMap((id, index) => accountRow(all, id, index));
  const rank = ({ state }: AccountRow): number =>
    ['refused', 'open', 'half_open', 'cooling_down', 'deprioritized', 'ready', 'off'].indexOf(
      state,
    );
  const sorted = data.sort((one, other) => rank(one) - rank(other));
  return { source: 'log', fromMs: nowMs - 3_600_000, toMs: nowMs, data: sorted };
}

function accountRow(
  all: readonly ModelChannels[],
  channelId: string,
  index: number,
): readonly AccountRow[] {
  const found = all.flatMap(({ modelId, channels }) =>
    channels.filter((row) => row.channelId === channelId).map((channel) => ({ modelId, channel })),
  );
  const [first] = found;
  if (first === undefined) return [];
  const { hasCost: _, groups: _groups, firstByteP95Ms, ...channel } = first.channel;
  const isFailing = !['ready', 'off'].includes(channel.state);
  const attempts = channel.state === 'off' ? 0 : 240 + index * 31;
  const slices = Array.from({ length: 12 }, (_, slice) => ({
    attempts: Math.round(attempts / 12),
    failures: isFailing && slice > 7 ? Math.round((attempts / 12) * (slice / 13)) : 0,
  }));
  const failures = slices.reduce((sum, slice) => sum + slice.failures, 0);
  const firstByteP50Ms = firstByteP95Ms && Math.round(firstByteP95Ms / 3);
  return [
    {
      ...channel,
      models: found.map(({ modelId, channel: { upstreamModel, priority, weight, ...health } }) => {
        const { state, reason, untilMs } = health;
        return { modelId, upstreamModel, priority, weight, state, reason, untilMs };
      }),
      recent: { attempts, failures, slices, firstByteP50Ms, firstByteP95Ms },
      lastFailure: isFailing ? lastFailure(channel.reason ?? 'slow', index) : undefined,
      calls: attempts * 3,
      chargeNanos: BigInt(attempts) * 41_000_000n,
      costNanos: index % 3 === 0 ? undefined : BigInt(attempts) * 29_000_000n,
    },
  ];
}

function lastFailure(reason: FailureReason, index: number) {
  const atMs = nowMs - (index + 1) * 17_000;
  return { atMs, modelId: 'gpt-5-mini', reason, status: 503, ...explained(reason) };
}

/** Three replicas, of which one sees more channels out than the others. */
function cluster(all: readonly ModelChannels[]): Cluster {
  const channels = all
    .flatMap((model) => model.channels)
    .filter(({ state }) => state !== 'ready')
    .map(({ channelId, state, reason, untilMs }) => {
      return { channelId, upstreamModel: undefined, state, reason, untilMs };
    });
  const replicas = ['gw-7f9c', 'gw-2b4d', 'gw-x91k'].map((host, index) => ({
    ...{ id: host, host, pid: 1, version: '0.1.0' },
    startedAtMs: nowMs - (192 - index * 60) * 60_000,
    seenAtMs: nowMs - index * 2_000,
    channels: channels.slice(0, channels.length - index),
  }));
  const [self = emptyReplica] = replicas;
  const switches = [
    { channelId: 'openai-reserve', isOff: true, actor: 'ada@acme.example', atMs: nowMs - 720_000 },
    { channelId: 'gemini-1', isOff: false, actor: 'bob@acme.example', atMs: nowMs - 90_000_000 },
  ];
  return { isShared: true, self, replicas, switches, readAtMs: nowMs };
}

const emptyReplica = {
  ...{ id: '', host: '', pid: 0, version: '', startedAtMs: 0, seenAtMs: 0, channels: [] },
};

/** Models with channels in every state. */
export function models(): readonly ModelChannels[] {
  const ready = { state: 'ready', untilMs: undefined, ...because(undefined) } as const;
  const until = { untilMs: undefined };
  const usual = {
    ...{ platform: undefined, groups: undefined },
    maxConcurrentCalls: undefined,
    hasCost: true,
    ...{ switched: undefined, replicas: [] },
    priority: 0,
    weight: 1,
    ...ready,
  };
  return [
    {
      modelId: 'gpt-5-mini',
      aliases: ['fast'],
      groups: ['default', 'batch'],
      channels: [
        { ...usual, ...place('openai-main', 'openai', 9, 640), weight: 3 },
        { ...usual, ...place('azure-sweden', 'openai', 2, 910), maxConcurrentCalls: 40 },
        {
          ...usual,
          ...place('openai-reserve', 'openai', 0, undefined),
          priority: 1,
          state: 'off',
          hasCost: false,
          switched: { isOff: true, actor: 'ada@acme.example', atMs: nowMs - 720_000 },
        },
      ],
    },
    {
      modelId: 'claude-opus-4',
      aliases: [],
      groups: ['default'],
      channels: [
        {
          ...usual,
          ...place('anthropic-eu', 'anthropic', 0, 14_200),
          state: 'open',
          ...because('upstream_overloaded'),
          untilMs: nowMs + 40_000,
          replicas: [
            { host: 'gw-7f9c', pid: 1, state: 'open', reason: 'upstream_overloaded', ...until },
            { host: 'gw-2b4d', pid: 1, state: 'ready', reason: undefined, ...until },
          ],
        },
        {
          ...usual,
          ...place('anthropic-us', 'anthropic', 0, undefined),
          state: 'refused',
          ...because('upstream_auth_error'),
          groups: ['batch'],
        },
      ],
    },
    {
      modelId: 'gemini-3-flash',
      aliases: ['flash', 'default'],
      groups: ['default'],
      channels: [
        {
          ...usual,
          ...place('gemini-1', 'gemini', 3, 380),
          state: 'deprioritized',
          reason: 'slow',
        },
        {
          ...usual,
          ...place('gemini-2', 'gemini', 0, 720),
          state: 'cooling_down',
          ...because('upstream_rate_limited'),
          untilMs: nowMs + 125_000,
        },
        { ...usual, ...place('gemini-3', 'gemini', 1, 450), state: 'half_open', priority: 1 },
      ],
    },
  ];
}

function because(reason: FailureReason | undefined) {
  return { reason, ...explained(reason) };
}

function place(
  channelId: string,
  dialect: string,
  inFlight: number,
  firstByteP95Ms: number | undefined,
) {
  return { channelId, dialect, upstreamModel: `${channelId}-model`, inFlight, firstByteP95Ms };
}
