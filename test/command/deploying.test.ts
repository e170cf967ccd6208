// suite: slow host
/** The container file and the Kubernetes example in docs/deploying.md fit what `serve` does. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/command/config/read.ts';
import { healthHandler } from '../../src/command/serve/serve.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

const page = textAt('docs/deploying.md');
const container = blockOf('dockerfile');
const kubernetes = blockOf('yaml');
const config = blockOf('json');
/** What `gateway.close` may take after the drain, by the page. */
const closingMs = 20_000;

describe('the examples of a deployment', () => {
  it('start the program that the package has, with the options that it takes', () => {
    const { bin } = JSON.parse(textAt('package.json'));
    const [, words = '[]'] = /^CMD (\[.*\])$/m.exec(container) ?? [];

    expect(JSON.parse(words)).toEqual([
      'node',
      `node_modules/tollgate/${bin.tollgate.replace('./', '')}`,
      ...['serve', '--config', 'tollgate.json'],
    ]);
  });

  it('probe paths that serve answers', async () => {
    const paths = [...kubernetes.matchAll(/path: (\/\S+), port: (\w+)/g)];

    expect(paths.map(([, path, port]) => [path, port])).toEqual([
      ['/healthz', '8787'],
      ['/readyz', '8787'],
      ['/healthz', '8787'],
    ]);
    for (const [, path = ''] of paths) expect(await statusAt(path)).toBe(200);
    expect(await statusAt('/elsewhere')).toBe(404);
  });

  it('give the process the time that its configuration lets it take', async () => {
    const env = { DATABASE_URL: 'postgres://h/d', OPENAI_API_KEY: 'x' };
    const { config: read } = await readConfig(Buffer.from(config), env);
    const { waitMs = 0, drainMs = 0 } = read.shutdown ?? {};
    const [, grace] = /terminationGracePeriodSeconds: (\d+)/.exec(kubernetes) ?? [];

    expect(Number(grace) * 1_000).toBeGreaterThanOrEqual(waitMs + drainMs + closingMs);
    expect(waitMs).toBeGreaterThan(0);
    expect(kubernetes).not.toContain('preStop');
  });

  it('take a process that ends out of the Service within its notice', async () => {
    const env = { DATABASE_URL: 'postgres://h/d', OPENAI_API_KEY: 'x' };
    const { config: read } = await readConfig(Buffer.from(config), env);
    const [, readiness = ''] = /readinessProbe:([\s\S]+?)livenessProbe/.exec(kubernetes) ?? [];
    const [, period] = /periodSeconds: (\d+)/.exec(readiness) ?? [];
    const [, failures] = /failureThreshold: (\d+)/.exec(readiness) ?? [];

    expect(Number(period) * Number(failures) * 1_000).toBeLessThan(read.shutdown?.waitMs ?? 0);
  });

  it('run as the same user, whom Kubernetes can tell from root, with nothing to write to', () => {
    const [, user] = /^USER (\d+)$/m.exec(container) ?? [];

    expect(container).toContain(`COPY --chown=${user} `);
    expect(kubernetes).toContain(`runAsNonRoot: true, runAsUser: ${user}, seccompProfile:`);
    for (const rule of [
      'type: RuntimeDefault',
      'allowPrivilegeEscalation: false',
      'readOnlyRootFilesystem: true',
      'drop: [ALL]',
      'automountServiceAccountToken: false',
    ]) {
      expect(kubernetes).toContain(rule);
    }
    expect(JSON.parse(config).admin.signInFile).toMatch(/^\/dev\/shm\//);
  });

  it('select the same pods in every object', () => {
    const objects = kubernetes.split('\n---\n');
    const [deployment = ''] = objects;

    expect(objects.map((text) => /^kind: (\w+)$/m.exec(text)?.[1])).toEqual([
      'Deployment',
      'Service',
      'PodDisruptionBudget',
    ]);
    for (const text of objects) expect(text).toMatch(/selector: .*\{ app: tollgate \}/);
    expect(deployment).toContain('labelSelector: { matchLabels: { app: tollgate } }');
    expect(deployment).toContain('labels: { app: tollgate }\n      annotations:');
    expect(kubernetes).toContain('targetPort: calls');
    expect(deployment).toContain('name: calls, containerPort: 8787');
  });

  it('mount the configuration and the files that it names', async () => {
    const env = { DATABASE_URL: 'postgres://h/d', OPENAI_API_KEY: 'x' };
    const { config: read } = await readConfig(Buffer.from(config), env);
    const [, folder = ''] = /^WORKDIR (\S+)$/m.exec(container) ?? [];

    for (const file of ['tollgate.json', read.catalog.file ?? '']) {
      expect(kubernetes).toContain(`mountPath: ${folder}/${file}, subPath: ${file} }`);
    }
  });

  it('let Prometheus reach the metrics, and nobody the console', async () => {
    const env = { DATABASE_URL: 'postgres://h/d', OPENAI_API_KEY: 'x' };
    const { config: read } = await readConfig(Buffer.from(config), env);

    expect(read.metrics?.host).toBe('0.0.0.0');
    const { port = 9464, path = '/metrics' } = read.metrics ?? {};
    expect(kubernetes).toContain(`containerPort: ${port}`);
    expect(kubernetes).toContain(`prometheus.io/port: "${port}", prometheus.io/path: ${path} }`);
    expect(read.admin?.host).toBe('127.0.0.1');
    expect(kubernetes).not.toContain('containerPort: 8788');
  });
});

function textAt(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}

function blockOf(language: string): string {
  const [, text] = new RegExp(`\`\`\`${language}\n([^]+?)\n\`\`\``).exec(page) ?? [];
  if (text === undefined) throw new Error(`docs/deploying.md has no block of ${language}`);
  return text;
}

/** What `serve` answers at a path that is not the gateway's. */
async function statusAt(path: string): Promise<number> {
  const quota = { check: async () => ({ ok: true as const }) };
  const handler = healthHandler({
    ...{ quota, clock: fakeClock() },
    asksStores: () => false,
    isEnding: () => false,
  });
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = Object(server.address());
  const { status } = await fetch(`http://127.0.0.1:${port}${path}`);
  server.close();
  return status;
}
