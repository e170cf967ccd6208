// suite: services
/**
 * Each alert fires for a failure of a real gateway, names the process where the cause is local, and
 * resolves after the repair that the runbook names. The metrics of the gateway are scraped once a
 * minute of its own clock, and `promtool` evaluates the rules on them, so that nothing is waited
 * for. Beside the gateway runs a healthy one of the same job, and one of another job.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readText, root } from '../house/sources.ts';
import { hasPromtool, promtool } from '../services/promtool.ts';
import { minutesBefore, type Series, scraped, usualMinutes } from './failing-gateway.ts';
import { type FiringIncident, incidents } from './incidents.ts';

const ruleFile = join(root, 'docs/dashboards/alerts.yml');

/** The alerts as they are written: name, severity, and the labels that the summary names. */
const rules = [
  ...readText('docs/dashboards/alerts.yml').matchAll(
    /alert: (\w+)$[\s\S]+?severity: (\w+)$[\s\S]+?summary: (.*)$/gm,
  ),
].map(([, name = '', severity = '', summary = '']) => ({
  name,
  severity,
  named: [...summary.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label),
}));

it('each alert has a failure', () => {
  expect(rules.length).toBeGreaterThan(14);
  expect([...new Set(incidents.map(({ alert }) => alert))].toSorted()).toEqual(
    rules.map(({ name }) => name).toSorted(),
  );
});

describe.skipIf(!hasPromtool())('the alerts', () => {
  let healthy: Series;
  beforeAll(async () => {
    const minutes = 110 - minutesBefore;
    const nothing = (): void => {};
    healthy = await scraped({
      ...{ failure: 'none', begin: nothing, repair: nothing },
      ...{ minutes, minutesAfter: 0 },
    });
  });

  it.each(incidents)('$alert fires if $failure, and resolves', async (incident) => {
    const { isValid, output } = promtool([
      'test',
      'rules',
      testFile(incident, await scraped(incident), healthy),
    ]);

    expect(output).toContain('SUCCESS');
    expect(isValid).toBe(true);
  });
});

/** Writes what Prometheus has stored, and what it must have made of it. */
function testFile(incident: FiringIncident, broken: Series, healthy: Series): string {
  const { minutes = usualMinutes, minutesAfter = usualMinutes } = incident;
  const all = minutesBefore + minutes + minutesAfter;
  const series = [
    ...seriesOf(broken, 'tollgate', 'a:9464', all),
    ...seriesOf(healthy, 'tollgate', 'b:9464', all),
    ...seriesOf(healthy, 'other', 'c:9464', all),
  ];
  const checks = [
    ...firing(minutesBefore - 1, []),
    ...firing(minutesBefore + minutes - 1, [incident.alert, ...(incident.others ?? [])]),
    ...named(minutesBefore + minutes - 1, incident),
    ...firing(all - 1, []),
  ];
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-alerts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'alerts.test.json');
  const test = { interval: '1m', input_series: series, promql_expr_test: checks };
  // JSON is YAML.
  writeFileSync(
    path,
    JSON.stringify({ rule_files: [ruleFile], evaluation_interval: '1m', tests: [test] }),
  );
  return path;
}

function seriesOf(from: Series, job: string, instance: string, minutes: number): readonly object[] {
  return [...from].map(([name, values]) => ({
    series: withLabels(name, `job="${job}",instance="${instance}"`),
    values: values
      .slice(0, minutes)
      .map((value) => value ?? '_')
      .join(' '),
  }));
}

function withLabels(name: string, labels: string): string {
  return name.endsWith('}') ? name.replace('{', `{${labels},`) : `${name}{${labels}}`;
}

/** Exactly these alerts fire. */
function firing(minute: number, alerts: readonly string[]): readonly object[] {
  return [
    {
      expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
      eval_time: `${minute}m`,
      exp_samples: [...new Set(alerts)].map((name) => ({
        labels: `{alertname="${name}"}`,
        value: 1,
      })),
    },
  ];
}

/** The alert fires once, with these labels, which its summary names. */
function named(minute: number, { alert, labels }: FiringIncident): readonly object[] {
  const rule = rules.find(({ name }) => name === alert);
  const given = { job: 'tollgate', ...labels };
  expect(Object.keys(given)).toEqual(expect.arrayContaining(rule?.named ?? ['a rule']));
  const all = { __name__: 'ALERTS', alertname: alert, alertstate: 'firing', ...given };
  const pairs = Object.entries({ ...all, severity: rule?.severity ?? '' });
  const written = pairs.map(([name, value]) => `${name}="${value}"`).join(',');
  return [
    {
      expr: `ALERTS{alertname="${alert}",alertstate="firing"}`,
      eval_time: `${minute}m`,
      exp_samples: [{ labels: `{${written}}`, value: 1 }],
    },
  ];
}
