// suite: quick
/** The pods of the Deployment keep each rule, and a pod that breaks one is found by that rule. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../src/json.ts';
import { at, objectOf } from './files.ts';
import { brokenRules, containerLists, ours, restricted } from './pod-rules.ts';

const pod = at(objectOf('Deployment'), 'spec', 'template', 'spec') ?? null;
const container = at(pod, 'containers', '0') ?? null;

/** The members that break a rule, by its name: in the pod, or in one of its containers. */
type Breaks = Readonly<Record<keyof typeof restricted | keyof typeof ours, readonly Break[]>>;
type Break =
  | { readonly pod: readonly string[]; readonly to?: JsonValue }
  | { readonly container: readonly string[]; readonly to?: JsonValue };

const context = 'securityContext';
const windows = [context, 'windowsOptions', 'hostProcess'];
const volumes = ['hostPath', 'nfs', 'gitRepo', 'iscsi', 'rbd', 'flexVolume'] as const;
const handlers = [
  ...['livenessProbe', 'readinessProbe', 'startupProbe'].map((name) => [name, 'httpGet', 'host']),
  ...['postStart', 'preStop'].map((name) => ['lifecycle', name, 'tcpSocket', 'host']),
];

const breaks: Breaks = {
  'no host process': [
    { pod: windows, to: true },
    { container: windows, to: true },
  ],
  'no namespaces of the host': ['hostNetwork', 'hostPID', 'hostIPC'].map((name) => ({
    pod: [name],
    to: true,
  })),
  'not privileged': [{ container: [context, 'privileged'], to: true }],
  'no capabilities': [
    { container: [context, 'capabilities'] },
    { container: [context, 'capabilities', 'drop'], to: ['NET_RAW'] },
    { container: [context, 'capabilities', 'add'], to: ['NET_BIND_SERVICE', 'SYS_TIME'] },
  ],
  'volumes of allowed types': volumes.map((type) => ({
    pod: ['volumes', '9'],
    to: { name: 'more', [type]: {} },
  })),
  'no ports of the host': [{ container: ['ports', '0', 'hostPort'], to: 8787 }],
  'no probes of other hosts': handlers.map((path) => ({ container: path, to: '169.254.169.254' })),
  AppArmor: [
    { pod: [context, 'appArmorProfile', 'type'], to: 'Unconfined' },
    { container: [context, 'appArmorProfile', 'type'], to: 'Unconfined' },
  ],
  SELinux: ['type', 'user', 'role'].flatMap((name) => [
    { pod: [context, 'seLinuxOptions', name], to: 'spc_t' },
    { container: [context, 'seLinuxOptions', name], to: 'spc_t' },
  ]),
  'the default view of /proc': [{ container: [context, 'procMount'], to: 'Unmasked' }],
  seccomp: [
    { pod: [context, 'seccompProfile'] },
    { pod: [context, 'seccompProfile', 'type'], to: 'Unconfined' },
    { container: [context, 'seccompProfile', 'type'], to: 'Unconfined' },
  ],
  'safe sysctls': [{ pod: [context, 'sysctls'], to: [{ name: 'kernel.msgmax', value: '1' }] }],
  'no escalation of privileges': [
    { container: [context, 'allowPrivilegeEscalation'] },
    { container: [context, 'allowPrivilegeEscalation'], to: true },
  ],
  'runs as non-root': [
    { pod: [context, 'runAsNonRoot'] },
    { pod: [context, 'runAsNonRoot'], to: false },
    { container: [context, 'runAsNonRoot'], to: false },
  ],
  'no user 0': [{ container: [context, 'runAsUser'], to: 0 }],
  'a root file system that is read-only': [
    { container: [context, 'readOnlyRootFilesystem'] },
    { container: [context, 'readOnlyRootFilesystem'], to: false },
  ],
  'no token for the API of Kubernetes': [
    { pod: ['automountServiceAccountToken'] },
    { pod: ['automountServiceAccountToken'], to: true },
    { pod: ['volumes', '0', 'projected', 'sources', '9'], to: { serviceAccountToken: {} } },
  ],
  'a user with a number': [
    { pod: [context, 'runAsUser'] },
    { pod: [context, 'runAsUser'], to: 'node' },
  ],
  'writes only to memory': [
    { pod: ['volumes', '1', 'emptyDir', 'medium'] },
    { container: ['volumeMounts', '0', 'readOnly'] },
  ],
  'a version of the image': ['tollgate', 'tollgate:latest', 'host:5000/tollgate'].map((to) => ({
    container: ['image'],
    to,
  })),
  'requests and a limit of memory': [
    { container: ['resources', 'requests', 'cpu'] },
    { container: ['resources', 'requests', 'memory'] },
    { container: ['resources', 'limits'] },
  ],
  'no secret in the manifest': [{ container: ['env', '0'], to: { name: 'KEY', value: 'sk-1' } }],
};

const cases = Object.entries(breaks).flatMap(([rule, list]) =>
  list.map((broken) => ({ rule, broken })),
);

describe('the pods of the Deployment', () => {
  it('keep every rule', () => {
    expect(brokenRules(pod)).toEqual([]);
    expect(Object.keys(breaks)).toEqual([...Object.keys(restricted), ...Object.keys(ours)]);
  });

  it.each(cases)('that break "$rule" are found: $broken', ({ rule, broken }) => {
    for (const changed of brokenPods(broken)) expect(brokenRules(changed)).toEqual([rule]);
  });

  it('that break several rules are found by all of these', () => {
    const some = fc.subarray(cases, { minLength: 2, maxLength: 5 });

    fc.assert(
      fc.property(some, fc.nat(), (chosen, which) => {
        const places = new Set(chosen.map(({ broken }) => placeOf(broken)));
        fc.pre(places.size === chosen.length);
        const changed = chosen.reduce<JsonValue>((value, { broken }) => {
          const options = brokenPods(broken, value);
          return options[which % options.length] ?? null;
        }, pod);

        const rules = new Set(chosen.map(({ rule }) => rule));
        expect(brokenRules(changed).toSorted()).toEqual([...rules].toSorted());
      }),
    );
  });
});

/** The member of the outermost object that a change replaces, so that two don't undo each other. */
function placeOf(broken: Break): string {
  const path = 'pod' in broken ? ['pod', ...broken.pod] : ['container', ...broken.container];
  return path.slice(0, path[1] === context ? 3 : 2).join('.');
}

/** The pod with the change; for a change of a container, in each of the lists of containers. */
function brokenPods(broken: Break, whole = pod): readonly JsonValue[] {
  if ('pod' in broken) return [changed(whole, broken.pod, broken.to)];
  return containerLists.map((list) => {
    const first = at(whole, list, '0') ?? container;
    return changed(whole, [list, '0'], changed(first, broken.container, broken.to));
  });
}

/** The value with the member at the path replaced, or without it. An index behind a list adds. */
function changed(
  value: JsonValue | undefined,
  [name = '', ...rest]: readonly string[],
  to: JsonValue | undefined,
): JsonValue {
  const inner = rest.length === 0 ? to : changed(at(value, name), rest, to);
  if (Array.isArray(value) || (value === undefined && /^\d$/.test(name))) {
    const list: readonly JsonValue[] = Array.isArray(value) ? value : [];
    const index = Math.min(Number(name), list.length);
    return list.toSpliced(index, 1, ...(inner === undefined ? [] : [inner]));
  }
  const { [name]: _, ...others } = Object(value);
  return inner === undefined ? others : { ...others, [name]: inner };
}
