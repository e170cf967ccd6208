// suite: quick
/** The Dockerfile, compose.yaml, tollgate.service and their page fit each other and `serve`. */
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/command/config/read.ts';
import { serve } from '../../src/command/serve/serve.ts';
import { type JsonValue, parseJson } from '../../src/json.ts';
import {
  at,
  blockOf,
  kustomization,
  listAt,
  objectOf,
  page,
  readDeployed,
  readText,
  textsAt,
  yaml,
} from './files.ts';
import { closingMs, configOf, environment, variablesOf } from './served-config.ts';

const container = readDeployed('Dockerfile');
const compose = yaml(readDeployed('compose.yaml'));
const service = at(compose, 'services', 'tollgate');
const unit = readDeployed('tollgate.service');
const manifest = parseJson(readText('package.json'));
const [, user] = /^USER (\d+)$/m.exec(container) ?? [];
const variables = new Set([...variablesOf('tollgate.json'), ...variablesOf('models.json')]);

describe('the image', () => {
  it('starts the program that the package has, with the options that it takes', () => {
    const program = at(manifest, 'bin', 'tollgate');

    expect(instruction('ENTRYPOINT')).toEqual([
      'node',
      `node_modules/tollgate/${String(program).replace('./', '')}`,
    ]);
    expectToServe(instruction('CMD'));
  });

  it('has the drivers at the versions that the tests use, and the version of the package', () => {
    const drivers = [...container.matchAll(/([\w-]+)@(\d[\d.]+)/g)].map(([, name, version]) => [
      name,
      version,
    ]);
    const tested = ['pg', 'redis', 'prom-client'].map((name) => [
      name,
      at(manifest, 'devDependencies', name),
    ]);

    expect(drivers).toEqual(tested);
    for (const [, version] of container.matchAll(/(?:VERSION=|-t tollgate:)(\S+)/g)) {
      expect(version).toBe(at(manifest, 'version'));
    }
    expect(imageOf(service)).toBe(`tollgate:${at(manifest, 'version')}`);
    expect(imageOf(deployed())).toBe(imageOf(service));
  });

  it('is built from stages that it names before', () => {
    const stages: string[] = [];
    for (const [, from = '', name = ''] of container.matchAll(/^FROM (\S+)(?: AS (\w+))?$/gm)) {
      if (from !== `node:\${NODE}-slim`) expect([...stages, `\${SOURCE}`]).toContain(from);
      stages.push(name);
    }
    const [, usual] = /^ARG SOURCE=(\w+)$/m.exec(container) ?? [];

    expect(stages).toEqual(['tree', 'registry', 'package', 'installed', '']);
    for (const [, stage = ''] of container.matchAll(/--from=(\w+)/g))
      expect(stages).toContain(stage);
    for (const [, source = ''] of container.matchAll(/SOURCE=(\w+)/g))
      expect(stages).toContain(source);
    expect(at(service, 'build', 'args', 'SOURCE')).toBe(`\${SOURCE:-${usual}}`);
  });

  it('runs as the user of the Deployment, and is probed where serve answers', async () => {
    const { listen, admin, metrics } = await configOf();
    const [, exposed = ''] = /^EXPOSE (.+)$/m.exec(container) ?? [];

    expect(String(at(objectOf('Deployment'), ...contextOfPod, 'runAsUser'))).toBe(user);
    expect(exposed.split(' ').map(Number)).toEqual([listen.port, admin?.port, metrics?.port]);
    expect(container).toContain(`http://127.0.0.1:${listen.port}/healthz`);
  });
});

describe('compose.yaml', () => {
  it('passes each variable that the configuration names', () => {
    const given = [...textsAt(service, 'environment').keys()];

    expect(given.toSorted()).toEqual([...variables, 'ADMIN_HOST'].toSorted());
  });

  it('takes secrets from the variables that the page sets, and has none itself', () => {
    const text = readDeployed('compose.yaml');
    const taken = new Set([...text.matchAll(/\$\{(\w+):\?\}/g)].map(([, name = '']) => name));
    const [, set = ''] = /printf '(.*)' \\/.exec(page) ?? [];

    expect(set.split('\\n').filter(Boolean)).toEqual([...taken].map((name) => `${name}=%s`));
    for (const [name, value] of textsAt(service, 'environment')) {
      if (/KEY|PEPPER/.test(name)) expect(value).toBe(`\${${name}:?}`);
    }
  });

  it('publishes ports of the configuration, each on 127.0.0.1', async () => {
    const { listen, admin } = await configOf({ ADMIN_HOST: '0.0.0.0' });
    const ofAll = ['tollgate', 'prometheus', 'grafana'].flatMap((name) => portsOf(name));

    expect(portsOf('tollgate')).toEqual(
      [listen.port, admin?.port].map((port) => `127.0.0.1:${port}:${port}`),
    );
    for (const port of ofAll) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/);
    expect(portsOf('postgres').concat(portsOf('redis'))).toEqual([]);
    expect(admin?.hosts).toEqual(['localhost', '127.0.0.1']);
  });

  it('can write only where the sign-in link goes, as the user of the image', async () => {
    const { admin } = await configOf();
    const [tmpfs = ''] = listAt(service, 'tmpfs').map(String);
    const folder = tmpfs.split(':')[0];

    expect(at(service, 'read_only')).toBe(true);
    expect(at(service, 'cap_drop')).toEqual(['ALL']);
    expect(at(service, 'security_opt')).toEqual(['no-new-privileges:true']);
    expect(admin?.signInFile).toBe(`${folder}/sign-in.txt`);
    expect(tmpfs).toContain(`:uid=${user},gid=${user},mode=0700,`);
    expect(at(service, 'volumes')).toEqual(['./kubernetes:/etc/tollgate:ro']);
  });

  it('gives the process the time that its configuration lets it take', async () => {
    const { waitMs, drainMs } = (await configOf()).shutdown;
    const graceMs = Number.parseInt(String(at(service, 'stop_grace_period')), 10) * 1_000;

    expect(graceMs).toBeGreaterThanOrEqual(waitMs + drainMs + closingMs);
  });

  it('scrapes the metrics, with the alerts and the dashboard of the package', async () => {
    const { metrics } = await configOf();
    const scraped = yaml(String(at(compose, 'configs', 'prometheus', 'content')));
    const dashboards = yaml(String(at(compose, 'configs', 'dashboards', 'content')));
    const source = yaml(String(at(compose, 'configs', 'datasource', 'content')));
    const [alerts = ''] = listAt(compose, 'services', 'prometheus', 'volumes').map(String);
    const [dashboard = ''] = listAt(compose, 'services', 'grafana', 'volumes').map(String);

    expect(at(scraped, 'scrape_configs', '0', 'static_configs', '0', 'targets')).toEqual([
      `tollgate:${metrics?.port}`,
    ]);
    expect(metrics?.path).toBe('/metrics');
    expect(alerts).toBe(`../docs/dashboards/alerts.yml:${listAt(scraped, 'rule_files')[0]}:ro`);
    const folder = at(dashboards, 'providers', '0', 'options', 'path');
    expect(dashboard).toBe(`../docs/dashboards/grafana.json:${folder}/tollgate.json:ro`);
    expect(at(source, 'datasources', '0', 'url')).toBe('http://prometheus:9090');
    expect(JSON.parse(readText('docs/dashboards/grafana.json')).templating.list[0].query).toBe(
      at(source, 'datasources', '0', 'type'),
    );
  });

  it('names only services, volumes and configs that it has', () => {
    const [services, volumes, configs] = ['services', 'volumes', 'configs'].map((name) => [
      ...textsAt(compose, name).keys(),
    ]);
    const used = (services ?? []).map((name) => at(compose, 'services', name));

    expect([...textsAt(service, 'depends_on').keys()].every((one) => services?.includes(one))).toBe(
      true,
    );
    expect(used.flatMap((one) => listAt(one, 'configs').map((it) => at(it, 'source')))).toEqual(
      configs,
    );
    expect(
      used
        .flatMap((one) => listAt(one, 'volumes').map((it) => String(it).split(':')[0] ?? ''))
        .filter((one) => !one.startsWith('.')),
    ).toEqual(volumes);
    for (const name of ['DATABASE_URL', 'REDIS_URL']) {
      const [, host] =
        /(?:\/\/|@)(\w+)(?:\/\w+)?$/.exec(textsAt(service, 'environment').get(name) ?? '') ?? [];
      expect(services).toContain(host);
    }
  });

  it('has a Redis that keeps what it is given', () => {
    expect(listAt(compose, 'services', 'redis', 'command').join(' ')).toBe(
      'redis-server --appendonly yes --maxmemory-policy noeviction',
    );
  });
});

describe('tollgate.service', () => {
  const settings = new Map(
    [...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  const config = blockOf('json');

  it('starts the program of the package', () => {
    const [node, program, ...words] = (settings.get('ExecStart') ?? '').split(' ');

    expect(node).toBe('/usr/bin/node');
    expect(program).toBe(instruction('ENTRYPOINT')[1]);
    expectToServe(words);
  });

  it('has the folders and the time that the configuration of its page needs', async () => {
    const read = await readConfig(Buffer.from(config), environment);
    const { stores, admin, shutdown, catalog } = read.config;

    expect(stores?.sqlite?.path).toMatch(`/var/lib/${settings.get('StateDirectory')}/`);
    expect(admin?.signInFile).toBe(`/run/${settings.get('RuntimeDirectory')}/sign-in.txt`);
    expect(page).toContain(
      `cp node_modules/tollgate/deploy/kubernetes/${catalog.file} /etc/tollgate/`,
    );
    expect(Number(settings.get('TimeoutStopSec')) * 1_000).toBeGreaterThanOrEqual(
      shutdown.waitMs + shutdown.drainMs + closingMs,
    );
    expect(settings.get('ProtectSystem')).toBe('strict');
    // V8 writes machine code and then runs it.
    expect(settings.has('MemoryDenyWriteExecute')).toBe(false);
  });

  it('gets each variable that its configuration names', () => {
    const named = new Set([...config.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name));
    const [, comment = ''] = /> \/etc\/tollgate\/environment\) # (.*)/.exec(page) ?? [];
    const set = new Set([...comment.matchAll(/(\w+)=…/g)].map(([, name = '']) => name));

    expect(set).toEqual(new Set([...variablesOf('models.json'), ...named]));
  });
});

describe('the page', () => {
  it('names each variable of the Secret', () => {
    const [, sentence = ''] = /`secret\.env` has .* for each of ([^.]+)\./.exec(page) ?? [];
    const named = [...sentence.matchAll(/`(\w+)`/g)].map(([, name]) => name);

    expect(new Set(named)).toEqual(variables);
  });

  it('has an overlay that replaces the image and the configuration of the folder', () => {
    const overlay = yaml(blockOf('yaml'));
    const generated = (value: JsonValue) =>
      listAt(value, 'configMapGenerator').map((one) => ({
        name: at(one, 'name'),
        files: at(one, 'files'),
        options: at(one, 'options'),
      }));

    expect(generated(overlay)).toEqual(generated(kustomization));
    expect(listAt(overlay, 'configMapGenerator').map((one) => at(one, 'behavior'))).toEqual([
      'merge',
      'merge',
    ]);
    expect(imageOf(deployed())).toBe(
      `${at(overlay, 'images', '0', 'name')}:${at(overlay, 'images', '0', 'newTag')}`,
    );
  });

  it.each([
    '@aws-sdk/credential-providers',
    'google-auth-library',
    '@azure/identity',
  ])('adds %s, which a cloud needs, to the image', (name) => {
    expect(readText('src/catalog/cloud-credentials.ts')).toContain(`packageName: '${name}'`);
    expect(page).toContain(`EXTRA=${name}\``);
  });
});

describe('the published package', () => {
  it('has every file of the folder but secrets, and few bytes of them', () => {
    const folder = new URL('../../deploy', import.meta.url);
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile() && one.name !== '.env')
      .map(({ parentPath, name }) => relative(fileURLToPath(folder), join(parentPath, name)));
    const listed = listAt(manifest, 'files').flatMap(
      (path) => /^deploy\/(.+)$/.exec(String(path))?.[1] ?? [],
    );

    expect(files.filter((path) => !listed.includes(path.split('/')[0] ?? ''))).toEqual([]);
    expect(listed).not.toContain('.env');
    expect(files.reduce((sum, path) => sum + readDeployed(path).length, 0)).toBeLessThan(16_000);
  });
});

const contextOfPod = ['spec', 'template', 'spec', 'securityContext'];

function deployed(): JsonValue | undefined {
  return at(objectOf('Deployment'), 'spec', 'template', 'spec', 'containers', '0');
}

function imageOf(owner: JsonValue | undefined): JsonValue | undefined {
  return at(owner, 'image');
}

function portsOf(name: string): readonly string[] {
  return listAt(compose, 'services', name, 'ports').map(String);
}

/** The words of an instruction in its exec form, which has no shell that would keep the signals. */
function instruction(name: string): readonly string[] {
  const [, words = '[]'] = new RegExp(`^${name} (\\[.*\\])$`, 'm').exec(container) ?? [];
  return JSON.parse(words);
}

function expectToServe([name, option, path]: readonly string[]): void {
  expect([name, option]).toEqual([serve.name, `--${Object.keys(serve.options)[0]}`]);
  expect(path).toBe('/etc/tollgate/tollgate.json');
}
