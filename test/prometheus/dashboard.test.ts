// suite: services
/**
 * The dashboard over a real Prometheus that scrapes a gateway: first one without traffic, then with
 * calls that complete, then with every kind of trouble. No alert may fire before the trouble;
 * alerts.test.ts has what fires each of them.
 */
import { createServer } from 'node:http';
import { join } from 'node:path';
import client from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callOutcomes } from '../../src/ports/usage-sink.ts';
import { root } from '../house/sources.ts';
import { hasPrometheus, type PrometheusServer, startPrometheus } from '../services/prometheus.ts';
import { closed, listening } from '../support/servers.ts';
import { type Panel, panels } from './dashboard.ts';
import { troubledGateway } from './troubled-gateway.ts';

const ruleFile = join(root, 'docs/dashboards/alerts.yml');

describe.skipIf(!hasPrometheus())('the dashboard and the alerts', () => {
  const { register, serveWell, lockOut, serveBadly } = troubledGateway();
  const scrapes = countedScrapes(register);
  const server = createServer(async (_request, response) => {
    response.setHeader('content-type', register.contentType);
    response.end(await register.metrics());
  });
  let prometheus: PrometheusServer;
  let idle: Shown;
  let healthy: Shown;
  let troubled: Shown;

  beforeAll(async () => {
    prometheus = await startPrometheus(new URL(await listening(server)).host, ruleFile);
    await scrapes.stored(prometheus);
    idle = await shown(prometheus, await scrapes.stored(prometheus));
    // A series has increased only if Prometheus has seen it before.
    await serveWell();
    await scrapes.stored(prometheus);
    await serveWell();
    healthy = await shown(prometheus, await scrapes.stored(prometheus));
    await lockOut();
    await serveBadly();
    await scrapes.stored(prometheus);
    await serveBadly();
    troubled = await shown(prometheus, await scrapes.stored(prometheus));
  });
  afterAll(async () => {
    await prometheus?.stop();
    await closed(server);
  });

  it('without traffic, only panels that explain an empty chart are empty', () => {
    const withText = panels.filter(({ emptyText }) => emptyText !== undefined);

    expect(idle.emptyPanels).toEqual(withText.map(({ title }) => title));
    expect(idle.alerts).toEqual([]);
  });

  it('where all calls complete, only the panels of failures are empty, and no alert fires', () => {
    expect(healthy.emptyPanels).toEqual([
      'Refusals by code',
      'Share of calls that fail',
      'Reasons of failures',
      'Channels that are not ready',
      'Failed attempts',
      'Calls without a channel',
      'Failures of ports',
      // Its stores are in memory.
      'Duration of store calls',
      'Old versions in use',
    ]);
    expect(healthy.alerts).toEqual([]);
    expect(healthy.increasing('Calls by outcome')).toEqual(['complete']);
    expect(healthy.increasing('Share of the prompt read from a cache')).toEqual(['chat']);
    expect(healthy.increasing('Cost an hour')).toEqual(['chat']);
    expect(healthy.increasing('Money in doubt')).toEqual([]);
  });

  it('in every kind of trouble, all panels have data, and each names its cause', () => {
    expect(troubled.emptyPanels).toEqual([]);
    expect(troubled.increasing('Calls by outcome')).toEqual(outcomes);
    for (const [title, names] of Object.entries(causes)) {
      expect(troubled.increasing(title), title).toEqual(names);
    }
  });
});

/** The ways in which a call ends. */
const outcomes = callOutcomes.toSorted();

/** The series that must increase on each panel about trouble. */
const causes: Readonly<Record<string, readonly string[]>> = {
  'Refusals by code': [
    'invalid_key key_missing',
    'model_not_found none',
    'store_unavailable keys_unavailable',
    'store_unavailable quota_unavailable',
  ],
  'Share of calls that fail': ['cut-off', 'image', 'locked'],
  'Reasons of failures': [
    'broken reset',
    'caller_left caller_left',
    'cut total_timeout',
    'not_run account_refused',
    'not_run upstream_refused',
    'truncated upstream_truncated',
    'unknown headers_timeout',
  ],
  'Channels that are not ready': ['image-channel open', 'locked-channel refused'],
  'Old versions in use': ['old catalog', 'old configuration'],
  'Failed attempts': [
    'chat-channel upstream_refused',
    'cut-off-channel caller_left',
    'cut-off-channel reset',
    'cut-off-channel total_timeout',
    'cut-off-channel upstream_truncated',
    'image-channel headers_timeout',
    'limited-channel upstream_rate_limited',
  ],
  'Calls without a channel': ['limited to chat', 'locked account_refused'],
  'Models and accounts out': ['image-channel models'],
  'Anomalies of usage': ['missing'],
  'Subjects near their limit': ['80 %'],
  'Failures of ports': [
    'keys find StoreUnavailable',
    'quota reserve StoreUnavailable',
    'quota settle StoreUnavailable',
  ],
  'Money in doubt': ['calls in doubt', 'lapsed holds expired', 'lost settlements'],
  'Warnings and bugs': [
    'catalog_refused',
    'config_refused',
    'internal errors',
    'no_stated_maximum',
  ],
  'Charges that wait': ['oldest, in seconds', 'waiting'],
};

/** Counts the scrapes, in a metric of its own, so that Prometheus can say which it has stored. */
function countedScrapes(register: client.Registry): {
  stored(prometheus: PrometheusServer): Promise<number>;
} {
  let count = 0;
  let onScrape: () => void = () => {};
  new client.Gauge({
    name: 'scrapes',
    help: 'The number of this scrape.',
    registers: [register],
    collect() {
      count += 1;
      onScrape();
      this.set(count);
    },
  });
  return {
    /** The time of a scrape that began after this moment, in Unix seconds. */
    stored: async (prometheus) => {
      const before = count;
      for (;;) {
        await new Promise<void>((resolve) => {
          onScrape = resolve;
        });
        const [latest] = await prometheus.query('scrapes');
        const [time] = await prometheus.query('timestamp(scrapes)');
        if (latest !== undefined && time !== undefined && latest.value > before) return time.value;
      }
    },
  };
}

/** What Prometheus has for the dashboard and the alerts at one moment. */
interface Shown {
  readonly emptyPanels: readonly string[];
  /** The series of a panel that are above 0, by the names that its legend gives them. */
  increasing(title: string): readonly string[];
  /** The alerts whose condition holds. They fire once it has held for some time. */
  readonly alerts: readonly string[];
}

async function shown(prometheus: PrometheusServer, atSeconds: number): Promise<Shown> {
  const read = panels.map(async (panel) => ({
    title: panel.title,
    series: await seriesOf(panel, prometheus, atSeconds),
  }));
  const charts = await Promise.all(read);
  const alerts = await prometheus.alerts();
  const results = await Promise.all(alerts.map(({ query }) => prometheus.query(query, atSeconds)));
  return {
    emptyPanels: charts.filter(({ series }) => series.length === 0).map(({ title }) => title),
    increasing: (title) =>
      charts
        .filter((chart) => chart.title === title)
        .flatMap(({ series }) => series.filter(({ value }) => value > 0).map(({ name }) => name))
        .toSorted(),
    alerts: alerts.filter((_, index) => results[index]?.length !== 0).map(({ name }) => name),
  };
}

async function seriesOf(
  { targets }: Panel,
  prometheus: PrometheusServer,
  atSeconds: number,
): Promise<readonly { readonly name: string; readonly value: number }[]> {
  const read = targets.map(async ({ expression, legend }) => {
    const samples = await prometheus.query(expression, atSeconds);
    return samples
      .filter(({ value }) => Number.isFinite(value))
      .map(({ labels, value }) => ({
        name: legend.replaceAll(/\{\{(\w+)\}\}/g, (_, label) => labels[label] ?? ''),
        value,
      }));
  });
  return (await Promise.all(read)).flat();
}
