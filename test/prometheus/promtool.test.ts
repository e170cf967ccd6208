// suite: services
/**
 * The dashboard, the alerts and the output of the metrics, checked by Prometheus' own tool; and all
 * metrics that the first two name exist.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import client from 'prom-client';
import { prometheusMetrics } from 'tollgate/prometheus';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EventListener } from '../../src/events/events.ts';
import { metricDefinitions } from '../../src/prometheus/definitions.ts';
import { usageRecord } from '../../src/testing/contracts/usage-sink.ts';
import { readText, root } from '../house/sources.ts';
import { hasPromtool, promtool } from '../services/promtool.ts';
import { busyStatus } from './busy-status.ts';
import { expressions } from './dashboard.ts';

const alerts = readText('docs/dashboards/alerts.yml');

describe.skipIf(!hasPromtool())('promtool', () => {
  it('accepts the alerts', () => {
    expect(promtool(['check', 'rules', join(root, 'docs/dashboards/alerts.yml')])).toMatchObject({
      isValid: true,
    });
  });

  it('accepts the expression of each panel', () => {
    expect(checkExpressions(expressions)).toMatchObject({ isValid: true });
    expect(checkExpressions(['sum(rate(tollgate_calls_total))'])).toMatchObject({ isValid: false });
  });

  it('accepts a scrape, whatever the names of models', async () => {
    const register = new client.Registry();
    const listeners: EventListener[] = [];
    prometheusMetrics(
      {
        subscribe: (listener: EventListener) => {
          listeners.push(listener);
          return () => {};
        },
        channels: () => [],
        status: () => busyStatus,
      },
      { register },
    );
    for (const modelId of ['plain', '"\\\n', '\u0000\u0001', '\ud800', '\udfff', '💥{a="b"}']) {
      for (const listener of listeners) {
        listener({ type: 'call_ended', record: usageRecord({ modelId }), code: undefined });
      }
    }
    const text = await register.metrics();

    expect(text).toContain('model="plain"');
    expect(promtool(['check', 'metrics'], text)).toEqual({ isValid: true, output: '' });
    expect(promtool(['check', 'metrics'], `${text}broken{`)).toMatchObject({ isValid: false });
  });
});

it('all metrics of the dashboard and the alerts exist', () => {
  const named = new Set(
    [...expressions, alerts].flatMap((text) =>
      [...text.matchAll(/\btollgate_(\w+)/g)].map(([, name = '']) => name.replace(/_bucket$/, '')),
    ),
  );

  expect(expressions.length).toBeGreaterThan(20);
  expect([...named].filter((name) => !(name in metricDefinitions))).toEqual([]);
});

it('the dashboard shows all metrics', () => {
  const text = expressions.join('\n');

  expect(Object.keys(metricDefinitions).filter((name) => !text.includes(name))).toEqual([]);
});

it('each alert has a section of docs/runbook.md, and a link to it', () => {
  const names = [...alerts.matchAll(/alert: (\w+)/g)].map(([, name = '']) => name);
  const links = [...alerts.matchAll(/runbook_url: docs\/runbook\.md#(\w+)/g)].map(([, id]) => id);
  const sections = [...readText('docs/runbook.md').matchAll(/^### (Tollgate\w+)$/gm)];

  expect(names.length).toBeGreaterThan(10);
  expect(links).toEqual(names.map((name) => name.toLowerCase()));
  expect(sections.map(([, name]) => name)).toEqual(names);
});

/** Checks expressions as recording rules. */
function checkExpressions(texts: readonly string[]): ReturnType<typeof promtool> {
  const rules = texts.map((expr, index) => ({ record: `panel:${index}`, expr }));
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-rules-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'rules.yml');
  // JSON is YAML.
  writeFileSync(path, JSON.stringify({ groups: [{ name: 'panels', rules }] }));
  return promtool(['check', 'rules', path]);
}
