// suite: services
/** The files of `deploy`, checked by the tools of their formats; one not installed is skipped. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { root } from '../house/sources.ts';
import { hasPromtool, promtool } from '../services/promtool.ts';
import { at, blockOf, kustomization, listAt, readDeployed, yaml } from './files.ts';

const folder = join(root, 'deploy/kubernetes');
const manifests = listAt(kustomization, 'resources').map((file) => join(folder, String(file)));
const schema = join(root, 'test/fixtures/kubernetes/v1.36.schema.json');
const composed = ['compose', '--file', join(root, 'deploy/compose.yaml')];

/** The arguments that show whether a tool is installed, and those that check. */
const tools = [
  ['kubeconform', ['-v'], ['-strict', '-schema-location', schema, ...manifests]],
  ['kube-linter', ['version'], ['lint', folder]],
  ['kustomize', ['version'], ['build', folder]],
  ['kubectl', ['version', '--client'], ['kustomize', folder]],
  ['docker', ['compose', 'version'], [...composed, 'config', '--quiet']],
  ['systemd-analyze', ['--version'], ['verify', join(root, 'deploy/tollgate.service')]],
] as const;

describe.each(tools)('%s', (program, shown, checked) => {
  it.skipIf(statusOf(program, shown).status !== 0)('finds nothing wrong', () => {
    const secrets = { POSTGRES_PASSWORD: '0', KEY_PEPPER: '0', OPENAI_API_KEY: '0' };

    expect(statusOf(program, checked, secrets)).toMatchObject({ status: 0 });
  });
});

const hasKubectl = statusOf('kubectl', ['version', '--client']).status === 0;

it.skipIf(!hasKubectl)('kubectl builds the overlay of the page, with its image and models', () => {
  const temporary = temporaryFolder();
  const overlay = join(temporary, 'my-tollgate');
  cpSync(folder, join(temporary, 'kubernetes'), { recursive: true });
  cpSync(folder, overlay, { recursive: true });
  writeFileSync(join(overlay, 'models.json'), '{ "models": [] }');
  writeFileSync(join(overlay, 'kustomization.yaml'), blockOf('yaml'));

  const { output } = statusOf('kubectl', ['kustomize', overlay]);
  const objects = output.split('\n---\n').map(yaml);
  const pod = objects.map((one) => at(one, 'spec', 'template', 'spec')).find(Boolean);
  const mounted = listAt(pod, 'volumes', '0', 'projected', 'sources').map((one) =>
    at(one, 'configMap', 'name'),
  );
  const maps = objects.filter((one) => at(one, 'kind') === 'ConfigMap');

  expect(maps.map((one) => at(one, 'metadata', 'name'))).toEqual(mounted);
  expect(at(maps[1], 'data', 'models.json')).toBe('{ "models": [] }');
  expect(at(pod, 'containers', '0', 'image')).toBe('registry.example.com/tollgate:0.1.0');
  expect(new Set(objects.map((one) => at(one, 'metadata', 'namespace')))).toEqual(
    new Set(['tollgate']),
  );
});

describe.skipIf(!hasPromtool())('promtool', () => {
  it('accepts the configuration of Prometheus', () => {
    expect(isAccepted((text) => text)).toBe(true);
    expect(isAccepted((text) => text.replace('static_configs', 'static_config'))).toBe(false);
  });
});

function isAccepted(change: (text: string) => string): boolean {
  const content = at(yaml(readDeployed('compose.yaml')), 'configs', 'prometheus', 'content');
  const alerts = join(root, 'docs/dashboards/alerts.yml');
  const text = String(content).replace('/etc/prometheus/alerts.yml', alerts);
  const path = join(temporaryFolder(), 'prometheus.yml');
  writeFileSync(path, change(text));
  return promtool(['check', 'config', path]).isValid;
}

function temporaryFolder(): string {
  const temporary = mkdtempSync(join(tmpdir(), 'tollgate-deploy-'));
  onTestFinished(() => rmSync(temporary, { recursive: true }));
  return temporary;
}

function statusOf(
  program: string,
  words: readonly string[],
  more: Readonly<Record<string, string>> = {},
): { readonly status: number | null; readonly output: string } {
  const env = { ...process.env, ...more };
  const { status, stdout, stderr } = spawnSync(program, words, { encoding: 'utf8', env });
  return { status, output: `${stdout}${stderr}` };
}
