/** The replicas and the switches of channels in two tables. */
import { isFailureReason } from '../../failure-reasons.ts';
import { items, type JsonValue, jsonWithBigints, member } from '../../json.ts';
import type { Promised } from '../../ports/call-options.ts';
import {
  type ChannelSwitch,
  type ClusterStore,
  type Replica,
  type ReplicaChannel,
  replicaTtlMs,
} from '../../ports/cluster-store.ts';
import { healthStates } from '../../ports/health-status.ts';
import { corrupt, flagAt, integerAt, jsonAt, textAt } from './columns.ts';
import { type SqlDialect, type SqlEngine, whole } from './engine.ts';

/** A {@link ClusterStore} whose methods always return promises. */
export interface SqlClusterStore extends Promised<ClusterStore> {}

/** The statements, by what they do; exported so that a test can check their query plans. */
function clusterStatements({ table, now, json, unlocked }: SqlDialect) {
  const [replicas, switches] = [table('replicas'), table('switches')];
  return {
    report: `
INSERT INTO ${replicas} (id, host, pid, version, started_at_ms, seen_at_ms, channels)
VALUES ($1, $2, ${whole('$3')}, $4, ${whole('$5')}, ${now}, ${json('$6')})
ON CONFLICT (id) DO UPDATE SET seen_at_ms = excluded.seen_at_ms, channels = excluded.channels`,
    sweep: `
DELETE FROM ${replicas} WHERE id IN (
  SELECT id FROM ${replicas} WHERE seen_at_ms < ${now} - ${replicaTtlMs} ${unlocked}
)`,
    leave: `DELETE FROM ${replicas} WHERE id = $1`,
    replicas: `
SELECT id, host, pid, version, started_at_ms, seen_at_ms, channels FROM ${replicas}
WHERE seen_at_ms >= ${now} - ${replicaTtlMs} ORDER BY host, pid, id`,
    switches: `
SELECT channel_id, is_off, actor, at_ms FROM ${switches} ORDER BY channel_id`,
    switchOf: `
SELECT channel_id, is_off, actor, at_ms FROM ${switches} WHERE channel_id = $1`,
    switch: `
INSERT INTO ${switches} (channel_id, is_off, actor, at_ms)
VALUES ($1, $2, $3, ${now})
ON CONFLICT (channel_id) DO UPDATE
SET is_off = excluded.is_off, actor = excluded.actor, at_ms = excluded.at_ms`,
  };
}

/** A cluster store over migrated tables. */
export function sqlClusterStore(engine: SqlEngine): SqlClusterStore {
  const sql = clusterStatements(engine.dialect);
  return {
    report: async ({ id, host, pid, version, startedAtMs, channels }, options) => {
      const times = [BigInt(pid), version, BigInt(Math.round(startedAtMs))];
      await engine.change(sql.report, [id, host, ...times, jsonWithBigints(channels)], options);
      await engine.change(sql.sweep, [], options);
    },
    leave: async (replicaId, options) => {
      await engine.change(sql.leave, [replicaId], options);
    },
    read: async (options) => ({
      switches: (await engine.read(sql.switches, [], options)).map(switchFrom),
      replicas: (await engine.read(sql.replicas, [], options)).map(replicaFrom),
    }),
    switchChannel: async ({ channelId, isOff, actor }, options) => {
      await engine.change(sql.switch, [channelId, isOff, actor], options);
      const [row] = await engine.read(sql.switchOf, [channelId], options);
      return switchFrom(row);
    },
  };
}

function switchFrom(row: unknown): ChannelSwitch {
  return {
    channelId: textAt(row, 'channel_id'),
    isOff: flagAt(row, 'is_off'),
    actor: textAt(row, 'actor'),
    atMs: integerAt(row, 'at_ms'),
  };
}

function replicaFrom(row: unknown): Replica {
  return {
    id: textAt(row, 'id'),
    host: textAt(row, 'host'),
    pid: integerAt(row, 'pid'),
    version: textAt(row, 'version'),
    startedAtMs: integerAt(row, 'started_at_ms'),
    seenAtMs: integerAt(row, 'seen_at_ms'),
    channels: channelsFrom(jsonAt(row, 'channels') ?? corrupt('channels')),
  };
}

/** Lenient, because another replica may run another version of this package. */
function channelsFrom(list: JsonValue): readonly ReplicaChannel[] {
  return items(list).flatMap((channel) => {
    const channelId = member(channel, 'channelId');
    const state = healthStates.find((known) => known === member(channel, 'state'));
    if (typeof channelId !== 'string' || state === undefined) return [];
    const [upstreamModel, reason, untilMs] = ['upstreamModel', 'reason', 'untilMs'].map((name) =>
      member(channel, name),
    );
    return [
      {
        channelId,
        state,
        upstreamModel: typeof upstreamModel === 'string' ? upstreamModel : undefined,
        reason: isFailureReason(reason) ? reason : undefined,
        untilMs: typeof untilMs === 'number' ? untilMs : undefined,
      },
    ];
  });
}
