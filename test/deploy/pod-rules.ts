/**
 * What the pods of the Deployment must not do: the rules of the `restricted` Pod Security Standard
 * (https://kubernetes.io/docs/concepts/security/pod-security-standards/, with those that it has
 * from `baseline`), and our own.
 */
import { isJsonObject, type JsonValue } from '../../src/json.ts';
import { at, listAt } from './files.ts';

/** Whether a pod, the `spec` of a template, keeps a rule. */
type Rule = (pod: JsonValue) => boolean;

export const containerLists = ['containers', 'initContainers', 'ephemeralContainers'] as const;

export const restricted = {
  'no host process': eachContext(
    (context) => at(context, 'windowsOptions', 'hostProcess') !== true,
  ),
  'no namespaces of the host': (pod) =>
    ['hostNetwork', 'hostPID', 'hostIPC'].every((name) => at(pod, name) !== true),
  'not privileged': eachContainer((one) => security(one, 'privileged') !== true),
  'no capabilities': eachContainer(
    (one) =>
      listAt(one, 'securityContext', 'capabilities', 'drop').includes('ALL') &&
      listAt(one, 'securityContext', 'capabilities', 'add').every(
        (name) => name === 'NET_BIND_SERVICE',
      ),
  ),
  'volumes of allowed types': (pod) => listAt(pod, 'volumes').every(hasAllowedType),
  'no ports of the host': eachContainer((one) =>
    listAt(one, 'ports').every((port) => [undefined, 0].some((no) => at(port, 'hostPort') === no)),
  ),
  'no probes of other hosts': eachContainer((one) =>
    handlersOf(one).every((handler) => !(at(handler, 'host') ?? '')),
  ),
  AppArmor: eachContext((context) =>
    oneOf(at(context, 'appArmorProfile', 'type'), undefined, 'RuntimeDefault', 'Localhost'),
  ),
  SELinux: eachContext((context) => {
    const types = ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t'];
    const options = at(context, 'seLinuxOptions');
    return (
      oneOf(at(options, 'type'), undefined, ...types) &&
      oneOf(at(options, 'user'), undefined, '') &&
      oneOf(at(options, 'role'), undefined, '')
    );
  }),
  'the default view of /proc': eachContainer((one) =>
    oneOf(security(one, 'procMount'), undefined, 'Default'),
  ),
  seccomp: (pod) => {
    const ofPod = at(pod, 'securityContext', 'seccompProfile', 'type');
    return containersOf(pod).every((one) =>
      oneOf(
        at(one, 'securityContext', 'seccompProfile', 'type') ?? ofPod,
        'RuntimeDefault',
        'Localhost',
      ),
    );
  },
  'safe sysctls': (pod) =>
    listAt(pod, 'securityContext', 'sysctls').every((one) =>
      safeSysctls.has(String(at(one, 'name'))),
    ),
  'no escalation of privileges': eachContainer(
    (one) => security(one, 'allowPrivilegeEscalation') === false,
  ),
  'runs as non-root': (pod) => {
    const ofPod = at(pod, 'securityContext', 'runAsNonRoot');
    return containersOf(pod).every((one) => (security(one, 'runAsNonRoot') ?? ofPod) === true);
  },
  'no user 0': eachContext((context) => at(context, 'runAsUser') !== 0),
} as const satisfies Readonly<Record<string, Rule>>;

/** Those of kube-linter that the standard lacks, and what the gateway needs or doesn't. */
export const ours = {
  'a root file system that is read-only': eachContainer(
    (one) => security(one, 'readOnlyRootFilesystem') === true,
  ),
  'no token for the API of Kubernetes': (pod) =>
    at(pod, 'automountServiceAccountToken') === false &&
    listAt(pod, 'volumes').every((volume) =>
      listAt(volume, 'projected', 'sources').every(
        (source) => at(source, 'serviceAccountToken') === undefined,
      ),
    ),
  'a user with a number': (pod) => Number(at(pod, 'securityContext', 'runAsUser')) > 0,
  'writes only to memory': (pod) =>
    containersOf(pod).every((one) =>
      listAt(one, 'volumeMounts').every((mount) => {
        if (at(mount, 'readOnly') === true) return true;
        const volume = listAt(pod, 'volumes').find((it) => at(it, 'name') === at(mount, 'name'));
        return at(volume, 'emptyDir', 'medium') === 'Memory';
      }),
    ),
  'a version of the image': eachContainer((one) =>
    /:(?!latest$)[\w.-]+$/.test(String(at(one, 'image'))),
  ),
  'requests and a limit of memory': eachContainer(
    (one) =>
      at(one, 'resources', 'requests', 'cpu') !== undefined &&
      at(one, 'resources', 'requests', 'memory') !== undefined &&
      at(one, 'resources', 'limits', 'memory') !== undefined,
  ),
  'no secret in the manifest': eachContainer((one) =>
    listAt(one, 'env').every((variable) => at(variable, 'value') === undefined),
  ),
} as const satisfies Readonly<Record<string, Rule>>;

/** The names of the rules that a pod breaks. */
export function brokenRules(pod: JsonValue): readonly string[] {
  const rules: Readonly<Record<string, Rule>> = { ...restricted, ...ours };
  return Object.entries(rules).flatMap(([name, keeps]) => (keeps(pod) ? [] : [name]));
}

const safeSysctls: ReadonlySet<string> = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
]);

const volumeTypes: ReadonlySet<string> = new Set([
  ...['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'persistentVolumeClaim'],
  ...['projected', 'secret'],
]);

function hasAllowedType(volume: JsonValue): boolean {
  const names = Object.keys(isJsonObject(volume) ? volume : {});
  return names.every((name) => name === 'name' || volumeTypes.has(name)) && names.length === 2;
}

function containersOf(pod: JsonValue): readonly JsonValue[] {
  return containerLists.flatMap((list) => listAt(pod, list));
}

function security(container: JsonValue, name: string): JsonValue | undefined {
  return at(container, 'securityContext', name);
}

function eachContainer(keeps: (container: JsonValue) => boolean): Rule {
  return (pod) => containersOf(pod).every(keeps);
}

/** The security contexts of the pod and of its containers. */
function eachContext(keeps: (context: JsonValue | undefined) => boolean): Rule {
  return (pod) => [pod, ...containersOf(pod)].every((owner) => keeps(at(owner, 'securityContext')));
}

/** The requests and connections of probes and hooks. */
function handlersOf(container: JsonValue): readonly (JsonValue | undefined)[] {
  const probes = ['livenessProbe', 'readinessProbe', 'startupProbe'];
  const hooks = ['postStart', 'preStop'];
  return [
    ...probes.map((name) => at(container, name)),
    ...hooks.map((name) => at(container, 'lifecycle', name)),
  ].flatMap((handler) => [at(handler, 'httpGet'), at(handler, 'tcpSocket')]);
}

function oneOf(value: JsonValue | undefined, ...allowed: readonly (string | undefined)[]): boolean {
  return allowed.some((one) => one === value);
}
