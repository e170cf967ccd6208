// suite: slow
/** The metrics of gateways on a Registry of prom-client, as Prometheus reads them. */
import client from 'prom-client';
import { prometheusMetrics } from 'tollgate/prometheus';
import { describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import type { EventListener, GatewayEvent } from '../../src/events/events.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { chat, replies } from '../support/models.ts';
import { busyStatus } from './busy-status.ts';

/** What a gateway gives to its metrics, driven by the test. */
function fakeGateway() {
  const listeners = new Set<EventListener>();
  return {
    channels: () => [],
    status: () => busyStatus,
    subscribe: (listener: EventListener) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    emit: (event: GatewayEvent) => {
      for (const listener of listeners) listener(event);
    },
    listeners,
  };
}

function ended(change: Parameters<typeof usageRecord>[0]): GatewayEvent {
  return { type: 'call_ended', record: usageRecord(change), code: undefined };
}

/** The lines of a scrape without comments, sorted. */
async function scrape(register: client.Registry): Promise<readonly string[]> {
  return (await register.metrics()).split('\n').filter((line) => /^[^#]/.test(line));
}

/** As docs/metrics.md states the order. */
const worstFirst = [
  ...(['off', 'refused', 'open', 'half_open'] as const),
  ...(['cooling_down', 'deprioritized', 'ready'] as const),
];
const states = worstFirst;

describe('prometheusMetrics', () => {
  it.each([
    [],
    [undefined],
    [null],
    [{}],
    [{ register: 5 }],
    [new client.Registry()],
  ])('says what it needs in place of %o', (...options) => {
    expect(() => Reflect.apply(prometheusMetrics, undefined, [fakeGateway(), ...options])).toThrow(
      'prometheusMetrics: options.register must be a Registry of prom-client.',
    );
  });

  it('counts a call that a gateway serves, and a request that it refuses', async () => {
    const register = new client.Registry();
    const { gateway, call } = gatewayInProcess({
      handlers: [(up) => up.answer(200, JSON.parse(replies.chat))],
    });
    prometheusMetrics(gateway, { register });
    await call(chat());
    await call(chat({ model: 'unknown-model' }));
    const lines = await scrape(register);

    expect(lines).toEqual(
      expect.arrayContaining([
        'tollgate_calls_total{protocol="chat",model="chat",outcome="complete",reason="none"} 1',
        'tollgate_refusals_total{protocol="chat",code="model_not_found",reason="none"} 1',
        'tollgate_call_duration_seconds_count{model="chat",streamed="false"} 1',
        'tollgate_tokens_total{model="chat",kind="input"} 10',
        'tollgate_tokens_total{model="chat",kind="output"} 5',
        'tollgate_charge_currency_units_total{model="chat"} 2e-8',
        'tollgate_attempts_total{channel="openai-a",reason="none"} 1',
        'tollgate_channel_state{channel="openai-a",state="ready"} 1',
        'tollgate_channel_state{channel="openai-a",state="refused"} 0',
        'tollgate_channel_running_calls{channel="openai-a"} 0',
        'tollgate_settlements_lost_total 0',
        'tollgate_calls_in_doubt_total 0',
      ]),
    );
    expect(lines.filter((line) => line.includes('unknown-model'))).toEqual([]);
  });

  it.each(
    states.flatMap((own) => states.map((ofModel) => ({ own, ofModel }))),
  )('shows the worst state of a channel: $own, and $ofModel on a model', async (states) => {
    const register = new client.Registry();
    const since = { reason: undefined, untilMs: undefined };
    const model = { upstreamModel: 'm', state: states.ofModel, ...since };
    const channel = { channelId: 'a', state: states.own, ...since, inFlight: 0, accounts: [] };
    prometheusMetrics(
      { ...fakeGateway(), channels: () => [{ ...channel, models: [model] }] },
      { register },
    );
    const shown = (await scrape(register)).filter((line) => /channel_state.* 1$/.test(line));

    const worst = worstFirst.find((state) => [states.own, states.ofModel].includes(state));
    expect(shown).toEqual([`tollgate_channel_state{channel="a",state="${worst}"} 1`]);
  });

  it('shows whether the newest catalog and configuration are in use', async () => {
    const register = new client.Registry();
    const { onEvent } = prometheusMetrics(fakeGateway(), { register });
    const [source, reason] = ['models.json', 'invalid'];
    const stale = async (): Promise<readonly string[]> =>
      (await scrape(register)).filter((line) => /_stale /.test(line));

    onEvent({ type: 'catalog_refused', source, reason });
    onEvent({ type: 'config_loaded', source });
    expect(await stale()).toEqual(['tollgate_catalog_stale 1', 'tollgate_config_stale 0']);
    onEvent({ type: 'config_refused', source, reason });
    onEvent({ type: 'catalog_loaded', source, models: 1 });
    expect(await stale()).toEqual(['tollgate_catalog_stale 0', 'tollgate_config_stale 1']);
  });

  it('shows the status of the gateway, and how long its ports take', async () => {
    const times = 'tollgate_port_call_duration_seconds';
    const reserve = 'port="quota",operation="reserve"';
    const register = new client.Registry();
    prometheusMetrics(fakeGateway(), { register });

    expect(await scrape(register)).toEqual(
      expect.arrayContaining([
        'tollgate_start_time_seconds 1767225600',
        'tollgate_closing 0',
        'tollgate_running_calls 3',
        'tollgate_open_holds 2',
        'tollgate_outbox_waiting 1',
        'tollgate_outbox_oldest_seconds 1.5',
        `${times}_bucket{${reserve},le="0.0025"} 1`,
        `${times}_bucket{${reserve},le="0.1"} 2`,
        `${times}_bucket{${reserve},le="+Inf"} 3`,
        `${times}_sum{${reserve}} 1.25`,
      ]),
    );
  });

  it('adds up money exactly', async () => {
    const register = new client.Registry();
    const gateway = fakeGateway();
    prometheusMetrics(gateway, { register });
    for (let index = 0; index < 1_000; index += 1) {
      gateway.emit(ended({ modelId: 'a', chargeNanos: 100_000_001n, costNanos: 1n }));
    }

    expect(await scrape(register)).toEqual(
      expect.arrayContaining([
        'tollgate_charge_currency_units_total{model="a"} 100.000001',
        'tollgate_cost_currency_units_total{model="a"} 0.000001',
      ]),
    );
  });

  it('has cumulative buckets whose last is the count', async () => {
    const register = new client.Registry();
    const gateway = fakeGateway();
    prometheusMetrics(gateway, { register });
    for (const durationMs of [10, 50, 51, 700_000, Number.NaN]) {
      gateway.emit(ended({ modelId: 'a', streamed: true, durationMs }));
    }
    const buckets = (await scrape(register)).filter((line) =>
      line.startsWith('tollgate_call_duration_seconds_bucket'),
    );

    expect(buckets.map((line) => Number(line.split(' ')[1]))).toEqual([
      3,
      ...Array.from({ length: 13 }, () => 4),
      5,
    ]);
  });

  it('does not grow with 50,000 hostile names', async () => {
    const register = new client.Registry();
    const gateway = fakeGateway();
    prometheusMetrics(gateway, { register });
    const hostile = ['"', '\\', '\n', '\r', '\u0000', '\ud800', '\udfff', '{', ',', '€', '💥'];
    for (let index = 0; index < 50_000; index += 1) {
      const name = `${hostile[index % hostile.length]}${index}${'x'.repeat(index % 300)}`;
      gateway.emit(ended({ modelId: name, requestId: name, keyId: name }));
      gateway.emit({
        type: 'no_channel',
        requestId: name,
        modelId: name,
        reason: 'busy',
        retryAfterMs: 1,
      });
      gateway.emit({
        type: 'port_failed',
        requestId: name,
        port: 'keys',
        operation: name,
        reason: name,
      });
    }
    const lines = await scrape(register);

    expect(lines.length).toBeLessThan(201 * 100);
    expect(lines).toContain('tollgate_no_channel_total{model="other",reason="busy"} 49800');
    const series = lines.map((line) => line.slice(0, line.lastIndexOf(' ')));
    expect(new Set(series.map((name) => Buffer.from(name).toString())).size).toBe(series.length);
  });

  it('limits the series of one metric, and not only the names in it', async () => {
    const register = new client.Registry();
    const gateway = fakeGateway();
    prometheusMetrics(gateway, { register, maxLabelValues: 10_000 });
    for (let index = 0; index < 6_000; index += 1) {
      gateway.emit({
        type: 'no_channel',
        requestId: 'r',
        modelId: `m${index}`,
        reason: 'busy',
        retryAfterMs: 1,
      });
    }
    const lines = (await scrape(register)).filter((line) => line.includes('no_channel_total'));

    expect(lines).toHaveLength(5_001);
    expect(lines).toContain('tollgate_no_channel_total{model="other",reason="other"} 1000');
  });

  it('serves several gateways on one Registry, by their labels', async () => {
    const register = new client.Registry();
    const [eu, us] = [fakeGateway(), fakeGateway()];
    const metrics = prometheusMetrics(eu, { register, labels: { gateway: 'eu' } });
    prometheusMetrics(us, { register, labels: { gateway: 'us' } });
    eu.emit(ended({ modelId: 'a', chargeNanos: 1_000_000_000n }));
    const line = 'tollgate_charge_currency_units_total{gateway="eu",model="a"} 1';
    const before = await scrape(register);
    metrics.stop();
    const after = await scrape(register);

    expect(before).toContain(line);
    expect(before).toContain('tollgate_settlements_lost_total{gateway="us"} 0');
    expect(after.filter((text) => text.includes('gateway="eu"'))).toEqual([]);
    expect(after).toContain('tollgate_settlements_lost_total{gateway="us"} 0');
    expect(eu.listeners.size).toBe(0);
  });

  it('refuses a second gateway with the same labels, and names that are taken', async () => {
    const register = new client.Registry();
    const first = prometheusMetrics(fakeGateway(), { register });
    const gateway = fakeGateway();

    expect(() => prometheusMetrics(gateway, { register })).toThrow(/its own, such as \{ gateway/);
    expect(gateway.listeners.size).toBe(0);
    first.stop();
    expect(register.getMetricsAsArray()).toEqual([]);
    expect(() => prometheusMetrics(gateway, { register })).not.toThrow();

    const foreign = new client.Registry();
    new client.Counter({ name: 'tollgate_events_total', help: 'theirs', registers: [foreign] });
    expect(() => prometheusMetrics(gateway, { register: foreign })).toThrow(/options\.prefix/);
    expect(foreign.getMetricsAsArray()).toHaveLength(1);
  });

  it.each([
    { prefix: '1st' },
    { labels: { model: 'a' } },
    { labels: { __name__: 'a' } },
    { labels: { le: '1' } },
    { labels: { gateway: '' } },
    { maxLabelValues: 0 },
    { maxLabelValues: 1.5 },
  ])('refuses the options %o', (options) => {
    const register = new client.Registry();

    expect(() => prometheusMetrics(fakeGateway(), { register, ...options })).toThrow(
      ConfigurationError,
    );
    expect(register.getMetricsAsArray()).toEqual([]);
  });

  it('prints OpenMetrics, and adds up the processes of a cluster', async () => {
    const register = new client.Registry<client.OpenMetricsContentType>();
    register.setContentType(client.Registry.OPENMETRICS_CONTENT_TYPE);
    const gateway = fakeGateway();
    prometheusMetrics(gateway, { register });
    gateway.emit(ended({ modelId: 'a', chargeNanos: 2_000_000_000n }));
    const text = await register.metrics();
    const json = await register.getMetricsAsJSON();
    const both = client.AggregatorRegistry.aggregate([json, json]);

    expect(text).toContain('tollgate_charge_currency_units_total{model="a"} 2\n');
    expect(text).not.toContain('_total_total');
    expect(await both.metrics()).toContain('model="a"} 4\n');
  });
});
