// suite: quick
/** The objects in deploy/kubernetes are valid, and fit each other and what `serve` does. */
import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonValue } from '../../src/json.ts';
import { at, kustomization, listAt, objectOf, objects, readDeployed, textsAt } from './files.ts';
import { closingMs, configOf, variablesOf } from './served-config.ts';

const deployment = objectOf('Deployment');
const template = at(deployment, 'spec', 'template');
const pod = at(template, 'spec');
const container = at(pod, 'containers', '0');

const schema = new URL('../fixtures/kubernetes/v1.36.schema.json', import.meta.url);
const ajv = new Ajv2020({ allowUnionTypes: true });
ajv.addSchema(JSON.parse(readFileSync(schema, 'utf8')), 'kubernetes');

describe('the objects', () => {
  it('are all files of the folder, and the ConfigMaps', () => {
    const files = readdirSync(new URL('../../deploy/kubernetes', import.meta.url));
    const made = listAt(kustomization, 'configMapGenerator').flatMap((one) => listAt(one, 'files'));
    const named = [...listAt(kustomization, 'resources'), ...made, 'kustomization.yaml'];

    expect(files.toSorted()).toEqual(named.map(String).toSorted());
    expect(objects.map((one) => at(one, 'kind'))).toEqual([
      ...['ServiceAccount', 'Deployment', 'Service', 'PodDisruptionBudget'],
      ...['ConfigMap', 'ConfigMap'],
    ]);
  });

  it.each(objects.map((one) => [at(one, 'kind'), one]))('%s fits its schema', (_, object) => {
    expect(problemsOf(object)).toEqual([]);
  });

  it.each(
    objects.map((one) => [at(one, 'kind'), one]),
  )('%s would not fit with a member of another name or type', (_, object) => {
    for (const broken of misnamed(object)) expect(problemsOf(broken)).not.toEqual([]);
  });

  it('select the same pods', () => {
    const labels = textsAt(template, 'metadata', 'labels');
    const selectors = [
      at(deployment, 'spec', 'selector', 'matchLabels'),
      at(objectOf('Service'), 'spec', 'selector'),
      at(objectOf('PodDisruptionBudget'), 'spec', 'selector', 'matchLabels'),
      ...spreads().map((spread) => at(spread, 'labelSelector', 'matchLabels')),
    ];

    expect(selectors.length).toBeGreaterThanOrEqual(5);
    for (const selector of selectors) expect(textsAt(selector)).toEqual(labels);
  });

  it('spread the pods over nodes and zones, and let nodes be drained', () => {
    const budget = at(objectOf('PodDisruptionBudget'), 'spec');

    expect(spreads().map((spread) => at(spread, 'topologyKey'))).toEqual([
      'kubernetes.io/hostname',
      'topology.kubernetes.io/zone',
    ]);
    expect(Number(at(deployment, 'spec', 'replicas'))).toBeGreaterThan(
      Number(at(budget, 'maxUnavailable')),
    );
    expect(at(budget, 'maxUnavailable')).toBe(1);
    expect(at(budget, 'unhealthyPodEvictionPolicy')).toBe('AlwaysAllow');
  });

  it('name only what exists', () => {
    const account = objectOf('ServiceAccount');
    const maps = objects.filter((one) => at(one, 'kind') === 'ConfigMap');

    expect(at(pod, 'serviceAccountName')).toBe(at(account, 'metadata', 'name'));
    expect(at(account, 'automountServiceAccountToken')).toBe(false);
    expect(
      listAt(pod, 'volumes', '0', 'projected', 'sources').map((one) =>
        at(one, 'configMap', 'name'),
      ),
    ).toEqual(maps.map((one) => at(one, 'metadata', 'name')));
    for (const mount of listAt(container, 'volumeMounts')) {
      expect(listAt(pod, 'volumes').map((volume) => at(volume, 'name'))).toContain(
        at(mount, 'name'),
      );
    }
    expect(at(container, 'envFrom')).toEqual([{ secretRef: { name: 'tollgate' } }]);
  });
});

describe('the Deployment', () => {
  it('opens the ports of the configuration, but not that of the console', async () => {
    const { listen, metrics, admin } = await configOf();
    const ports = listAt(container, 'ports').map((port) => [
      at(port, 'name'),
      at(port, 'containerPort'),
    ]);

    expect(ports).toEqual([
      ['calls', listen.port],
      ['metrics', metrics?.port],
    ]);
    expect(at(objectOf('Service'), 'spec', 'ports', '0', 'targetPort')).toBe('calls');
    expect(admin?.host).toBe('127.0.0.1');
    expect(metrics?.host).toBe('0.0.0.0');
    expect(textsAt(template, 'metadata', 'annotations')).toEqual(
      new Map([
        ['prometheus.io/scrape', 'true'],
        ['prometheus.io/port', String(metrics?.port)],
        ['prometheus.io/path', String(metrics?.path)],
      ]),
    );
  });

  it('mounts the configuration where the image reads it, and the folder of the link', async () => {
    const [, folder] = /"--config", "(.+)\/tollgate\.json"/.exec(readDeployed('Dockerfile')) ?? [];
    const mounts = listAt(container, 'volumeMounts').map((mount) => at(mount, 'mountPath'));
    const { admin, catalog } = await configOf();
    const [run = ''] = /^.+(?=\/)/.exec(admin?.signInFile ?? '') ?? [];
    const maps = listAt(kustomization, 'configMapGenerator');

    expect(mounts).toEqual([folder, run]);
    expect(maps.flatMap((map) => listAt(map, 'files'))).toEqual(['tollgate.json', catalog.file]);
  });

  it('leaves all variables to the Secret, and says which', () => {
    const [, comment = ''] = /# Not in this folder: (.*)/.exec(manifest()) ?? [];
    const named = new Set(comment.match(/\b[A-Z]+_[A-Z_]+\b/g));

    expect(named).toEqual(variablesOf('tollgate.json'));
    expect(variablesOf('models.json').size).toBeGreaterThan(0);
  });

  it('gives the process the time that its configuration lets it take', async () => {
    const { waitMs, drainMs } = (await configOf()).shutdown;
    const graceMs = Number(at(pod, 'terminationGracePeriodSeconds')) * 1_000;

    expect(graceMs).toBeGreaterThanOrEqual(waitMs + drainMs + closingMs);
    // Only one of the two waits for the Service.
    expect(waitMs).toBeGreaterThan(0);
    expect(at(container, 'lifecycle')).toBeUndefined();
  });

  it('takes a process that ends out of the Service within its notice', async () => {
    const { waitMs } = (await configOf()).shutdown;
    const probe = at(container, 'readinessProbe');
    const noticeMs = Number(at(probe, 'periodSeconds')) * Number(at(probe, 'failureThreshold'));

    expect(noticeMs * 1_000).toBeLessThan(waitMs);
    expect(Number(at(probe, 'timeoutSeconds')) * 1_000).toBeGreaterThan(2_000);
  });

  it('is slower to restart a process than to send it fewer calls', () => {
    const failingSeconds = (name: string): number =>
      Number(at(container, name, 'periodSeconds')) *
      Number(at(container, name, 'failureThreshold'));

    expect(failingSeconds('livenessProbe')).toBeGreaterThan(5 * failingSeconds('readinessProbe'));
  });
});

function manifest(): string {
  return readDeployed('kubernetes/deployment.yaml');
}

/** The constraints that spread the pods. */
function spreads(): readonly (JsonValue | undefined)[] {
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  return [
    ...listAt(pod, 'affinity', 'podAntiAffinity', preferred).map((one) =>
      at(one, 'podAffinityTerm'),
    ),
    ...listAt(pod, 'topologySpreadConstraints'),
  ];
}

function problemsOf(object: JsonValue): readonly string[] {
  const validate = ajv.getSchema(`kubernetes#/$defs/${String(at(object, 'kind'))}`);
  if (validate === undefined) return ['the kind has no schema'];
  if (validate(object) === true) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** Objects whose names and texts the user may choose. */
const free: ReadonlySet<string> = new Set([
  ...['annotations', 'data', 'labels', 'limits', 'matchLabels', 'requests'],
  'selector',
]);

/** The value with each of its members once under another name, and once with another type. */
function misnamed(value: JsonValue): readonly JsonValue[] {
  if (Array.isArray(value)) {
    const list: readonly JsonValue[] = value;
    return list.flatMap((item, index) => misnamed(item).map((other) => list.with(index, other)));
  }
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const { [name]: _, ...others } = value;
    const isFree = free.has(name) && (name !== 'selector' || !('matchLabels' in Object(inner)));
    return [
      { ...others, [`${name}s`]: inner },
      { ...others, [name]: [[inner]] },
      ...(isFree ? [] : misnamed(inner)).map((other) => ({ ...others, [name]: other })),
    ];
  });
}
