/** The metrics that are read from `gateway.status()` when Prometheus scrapes. */
import type { Gateway } from '../gateway.ts';
import { type StatusMetric, statusMetrics } from './definitions.ts';
import type { Sample, SourcedMetric } from './registry.ts';

type Status = ReturnType<Gateway['status']>;
type PortTimes = Status['ports'][number];

/** The metrics of one gateway. */
export function metricsOfStatus(gateway: Pick<Gateway, 'status'>): readonly SourcedMetric[] {
  const gauge = (name: StatusMetric, value: (status: Status) => number): SourcedMetric => ({
    name,
    definition: statusMetrics[name],
    read: () => [{ labels: {}, value: value(gateway.status()) }],
  });
  return [
    gauge('start_time_seconds', ({ startedAtMs }) => startedAtMs / 1_000),
    gauge('closing', ({ isClosing }) => (isClosing ? 1 : 0)),
    gauge('running_calls', ({ runningCalls }) => runningCalls),
    gauge('buffered_bytes', ({ bufferedBytes }) => bufferedBytes),
    gauge('open_holds', ({ openHolds }) => openHolds),
    gauge('outbox_waiting', ({ outbox }) => outbox.waiting),
    gauge('outbox_oldest_seconds', ({ outbox }) => (outbox.oldestMs ?? 0) / 1_000),
    {
      name: 'port_call_duration_seconds',
      definition: statusMetrics.port_call_duration_seconds,
      read: (name) => gateway.status().ports.flatMap((times) => portSamples(name, times)),
    },
  ];
}

function portSamples(name: string, times: PortTimes): readonly Sample[] {
  const labels = { port: times.port, operation: times.operation };
  const bucket = (le: string, value: number): Sample => ({
    labels: { ...labels, le },
    value,
    metricName: `${name}_bucket`,
  });
  return [
    ...times.buckets.map(({ leMs, count }) => bucket(String(leMs / 1_000), count)),
    bucket('+Inf', times.calls),
    { labels, value: times.sumMs / 1_000, metricName: `${name}_sum` },
    { labels, value: times.calls, metricName: `${name}_count` },
  ];
}
