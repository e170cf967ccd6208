/**
 * `tollgate serve`: the whole gateway as a process, from a configuration file. It has no TLS, no
 * clustering and no user accounts: a proxy, an orchestrator and a host app have those.
 */
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import { nodeAdapter } from '../../../adapters/node.ts';
import type { Clock } from '../../clock.ts';
import { isError } from '../../errors.ts';
import type { EventListener } from '../../events/events.ts';
import type { FileWatch } from '../../files/file-watch.ts';
import type { Gateway } from '../../gateway.ts';
import type { QuotaStore } from '../../ports/limits/quota-store.ts';
import { within } from '../../ports/within.ts';
import { prometheusMetrics } from '../../prometheus/prometheus-metrics.ts';
import type { PrometheusRegistry } from '../../prometheus/registry.ts';
import {
  type Command,
  configOption,
  endSignal,
  exitCodes,
  type Given,
  type Surroundings,
  usageError,
} from '../command.ts';
import type { ServeConfig } from '../config/config.ts';
import { type ConfigFile, configFile, type ReadConfig } from '../config/read.ts';
import { jsonLog, type Log } from '../log.ts';
import { construct, exported, hasMethods, loadPackage } from '../stores/packages.ts';
import {
  type AdminPort,
  type AdminPortDeps,
  addressOf,
  adminPort,
  listenOn,
  type Port,
  stop,
} from './admin-port.ts';
import { countLosses, type Losses } from './losses.ts';
import { gatewayOptions, type OpenGateway, openGateway, setCallerAddress } from './open-gateway.ts';
import { deleteOldRecords } from './retention.ts';

const pollMs = 2_000;

export const serve: Command = {
  name: 'serve',
  summary: 'run the gateway as a process',
  options: { config: configOption },
  about: `Serves the models of a configuration file until it gets SIGTERM or SIGINT.
It logs JSON lines, answers /healthz and /readyz, and applies changes of the file
while it runs. SIGHUP reads the file again at once, and writes a new sign-in link for
the console if the file has "admin". An invalid file changes nothing, and the log says
why. After SIGTERM /readyz answers 503, running calls end and are charged, and the
exit code is 0, or 3 if charges or usage records were lost.`,
  examples: ['npx tollgate serve --config tollgate.json', 'curl http://localhost:8787/readyz'],
  outlivesOutput: true,
  run,
};

async function run(given: Given): Promise<number> {
  const { around } = given;
  const { clock } = around;
  const file = configFile(given);
  const watch = await file.open();
  const read = watch.current();
  const log = jsonLog(around.out, clock);
  log.setLevel(read.config.log.level);
  const losses = countLosses(log);
  const opened = await openGateway(read, { path: file.path, clock, losses });
  const live = liveConfig(file, watch, {
    ...opened,
    ...{ log, emit: losses.emit, onEvent: losses.onEvent },
  });
  let isEnding = false;
  const deps = { opened, config: read.config, path: file.path, log, around };
  const { ports, admin } = await openPorts(deps, live, () => isEnding);
  // Before the log line "listening", after which others may send signals.
  const stopWatching = keepUpToDate(live, admin, around);
  const stopDeleting = deleteOldRecords(opened.stores, () => live.current().retention, log, clock);
  const signalled = endSignal(around);
  log.write('info', 'listening', { ...listening(ports), config: file.name });
  const signal = await signalled;
  isEnding = true;
  stopWatching();
  stopDeleting();
  log.write('info', 'ending', { signal });
  await end(ports, opened, live, around);
  admin?.close();
  return ended(log, losses);
}

/** The exit code. If charges or usage records are lost, the process must not report success. */
function ended(log: Log, losses: Losses): number {
  const lost = losses.count();
  if (lost.charges === 0 && lost.usageRecords === 0) {
    log.last('info', 'ended');
    return exitCodes.done;
  }
  log.last('error', 'ended', { lost });
  return exitCodes.unreachable;
}

/** Opens the gateway's port first. If one can't be opened, closes the gateway. */
async function openPorts(
  deps: AdminPortDeps,
  live: LiveConfig,
  isEnding: () => boolean,
): Promise<{ readonly ports: Ports; readonly admin: AdminPort | undefined }> {
  const { opened, config, path, around } = deps;
  const { listen, metrics } = config;
  const { port, host } = listen;
  const server = serverOf(opened, live, isEnding, around);
  try {
    const admin = config.admin && (await adminPort(config.admin, deps));
    const scraped = metrics && (await metricsPort(metrics, opened.gateway, dirname(path)));
    const others = [admin?.port, scraped].filter((other) => other !== undefined);
    const ports: Ports = [{ member: 'listen', server, port, host }, ...others];
    await listenOn(ports, () => admin?.invite());
    return { ports, admin };
  } catch (error) {
    await opened.gateway.close();
    await opened.close();
    throw error;
  }
}

/** The port of the gateway, and those for operators. */
type Ports = readonly [Port, ...Port[]];

function listening([{ server }, ...others]: Ports): object {
  const addresses = others.map((port) => [port.member, addressOf(port.server)] as const);
  return { ...addressOf(server), ...Object.fromEntries(addresses) };
}

function serverOf(
  { gateway, stores: { quota } }: OpenGateway,
  live: LiveConfig,
  isEnding: () => boolean,
  { clock }: Surroundings,
): Server {
  const { basePath } = live.current().listen;
  const answer = nodeAdapter(gateway, basePath === undefined ? {} : { basePath });
  const asksStores = (): boolean => live.current().readiness.stores;
  const health = healthHandler({ quota, asksStores, clock, isEnding });
  return createServer((request, response) => {
    setCallerAddress(request, live.current().gateway.failedKeyLimit);
    void answer(request, response, () => health(request, response));
  });
}

/** Applies changes of the file until the returned function is called. */
function keepUpToDate(
  live: LiveConfig,
  admin: AdminPort | undefined,
  { clock, onSignal }: Surroundings,
): () => void {
  const stopPolling = clock.every(pollMs, () => void live.poll());
  let isEnding = false;
  // The listener stays while the process ends: without one, SIGHUP would kill it and its calls.
  onSignal('SIGHUP', () => {
    if (isEnding) return;
    void live.reload();
    admin?.inviteAgain();
  });
  return () => {
    isEnding = true;
    stopPolling();
  };
}

/** Refuses new calls, lets running ones end, and closes everything. */
async function end(
  [{ server }, ...others]: Ports,
  { gateway, close }: OpenGateway,
  live: LiveConfig,
  { clock }: Surroundings,
): Promise<void> {
  const { waitMs, drainMs } = live.current().shutdown;
  if (waitMs > 0) await pause(waitMs, clock);
  // The port stays open meanwhile: if liveness probes failed, the process would be killed.
  await gateway.close({ drainMs });
  stop(server);
  // The ports for operators close last, so that they show the end of the last call.
  for (const other of others) stop(other.server);
  await close();
}

/**
 * A load balancer needs a moment to notice that the process is not ready, and sends calls
 * meanwhile.
 */
function pause(ms: number, clock: Surroundings['clock']): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.every(ms, () => {
      stop();
      resolve();
    });
  });
}

interface Readiness {
  readonly quota: Pick<QuotaStore, 'check'>;
  /**
   * Whether the quota store decides too. All processes share it: if it fails, a balancer takes all
   * of them out, and callers get its error in place of the gateway's with `Retry-After`.
   */
  readonly asksStores: () => boolean;
  readonly clock: Clock;
  readonly isEnding: () => boolean;
}

/** Anyone may send a probe, so the quota store is checked at most once in this time. */
const freshMs = 1_000;
const checkMs = 2_000;

/**
 * Answers `/healthz` and `/readyz`, and 404 for every other path. The reasons in its answers give
 * no details, because callers can read them.
 */
export function healthHandler({ quota, asksStores, clock, isEnding }: Readiness): RequestListener {
  let known: { readonly atMs: number; readonly isFit: Promise<boolean> } | undefined;

  const storesAreFit = (): Promise<boolean> => {
    const nowMs = clock.monotonicMs();
    if (known === undefined || nowMs - known.atMs > freshMs) {
      known = { atMs: nowMs, isFit: within(isFit(quota), checkMs, clock).catch(() => false) };
    }
    return known.isFit;
  };

  return (request, response) => {
    const [path] = (request.url ?? '').split('?');
    if (path === '/healthz') return answerProbe(response, 200, { status: 'ok' });
    if (path !== '/readyz') return answerProbe(response, 404, { error: 'not_found' });
    if (isEnding()) return answerProbe(response, 503, { status: 'not_ready', reason: 'ending' });
    if (!asksStores()) return answerProbe(response, 200, { status: 'ready' });
    void storesAreFit().then((isFit) =>
      isFit
        ? answerProbe(response, 200, { status: 'ready' })
        : answerProbe(response, 503, { status: 'not_ready', reason: 'quota' }),
    );
  };
}

async function isFit(quota: Readiness['quota']): Promise<boolean> {
  return (await quota.check({ timeoutMs: checkMs })).ok;
}

function answerProbe(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(body)}\n`);
}

interface Registry extends PrometheusRegistry {
  readonly contentType: string;
  metrics(): Promise<string>;
}

/**
 * The server of the metrics: the gateway's, and those of the process.
 *
 * @param folder in which prom-client is looked for first
 * @throws CommandError if prom-client is not installed
 */
async function metricsPort(
  { port, host, path }: NonNullable<ServeConfig['metrics']>,
  gateway: Gateway,
  folder: string,
): Promise<Port> {
  const { content } = await loadPackage(['prom-client'], 'metrics', folder);
  const register = construct(exported(content, 'Registry'));
  const collect = exported(content, 'collectDefaultMetrics');
  if (!isRegistry(register) || typeof collect !== 'function') {
    throw usageError('metrics: the installed prom-client is too old. Run: npm install prom-client');
  }
  Reflect.apply(collect, undefined, [{ register }]);
  prometheusMetrics(gateway, { register });
  return { member: 'metrics', server: createServer(answering(register, path)), port, host };
}

function isRegistry(value: unknown): value is Registry {
  return hasMethods(value, 'registerMetric', 'getSingleMetric', 'removeSingleMetric', 'metrics');
}

function answering(register: Registry, path: string): RequestListener {
  return (request, response) => {
    const [target] = (request.url ?? '').split('?');
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (target !== path || !isRead) {
      return void response.writeHead(target === path ? 405 : 404).end();
    }
    void register.metrics().then(
      (text) =>
        response
          .writeHead(200, { 'content-type': register.contentType, 'cache-control': 'no-store' })
          .end(text),
      () => response.writeHead(500).end(),
    );
  };
}

interface Reloaded extends Pick<OpenGateway, 'gateway' | 'stores' | 'catalog'> {
  readonly log: Log;
  /** Receives `config_loaded` and `config_refused`. */
  readonly emit: EventListener;
  /** Receives the events of the gateway. */
  readonly onEvent: EventListener;
}

export type LiveConfig = ReturnType<typeof liveConfig>;

/** Keeps a gateway up to date with its file. A bad version is reported, and changes nothing. */
export function liveConfig(file: ConfigFile, opened: FileWatch<ReadConfig>, target: Reloaded) {
  let watch = opened;
  const started = opened.current().config;
  let current = started;
  let running: Promise<void> = Promise.resolve();

  const refused = (reason: string): void =>
    target.emit({ type: 'config_refused', source: file.name, reason });
  const take = (read: ReadConfig): void => {
    applyConfig(read, current, target);
    const needsRestart = changedAtStart(started, read.config);
    current = read.config;
    target.emit({ type: 'config_loaded', source: file.name });
    if (needsRestart.length === 0) return;
    target.log.write('warn', 'config_needs_restart', { source: file.name, members: needsRestart });
  };
  const poll = async (): Promise<void> => {
    const change = await watch.poll();
    if (change?.type === 'refused') refused(change.reason);
    if (change?.type === 'loaded') take(change.value);
  };
  /** Reads and applies the file again, changed or not. */
  const reload = async (): Promise<void> => {
    watch = await file.open();
    take(watch.current());
  };
  // One after another, because polls of one file must not overlap.
  const next = (step: () => Promise<void>): Promise<void> => {
    running = running
      .then(step)
      .catch((error: unknown) => refused(isError(error) ? error.message : 'unknown'));
    return running;
  };

  return { current: () => current, poll: () => next(poll), reload: () => next(reload) };
}

function applyConfig(
  { config, models }: ReadConfig,
  before: ServeConfig,
  { gateway, stores, catalog, log, onEvent }: Reloaded,
): void {
  const { maxBufferedBytes: _, ...changeable } = gatewayOptions(config, stores, onEvent);
  gateway.update({
    // An option that was removed from the file gets its default again.
    ...Object.fromEntries(Object.keys(before.gateway).map((name) => [name, undefined])),
    ...changeable,
    ...(models === undefined ? {} : { catalog: catalog.replace(models) }),
  });
  if ('replace' in stores.keys) stores.keys.replace(config.keys);
  log.setLevel(config.log.level);
}

/** The members that have changed since the start and need a restart. */
function changedAtStart(before: ServeConfig, after: ServeConfig): readonly string[] {
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['listen', before.listen, after.listen],
    ['admin', before.admin, after.admin],
    ['audit', before.audit, after.audit],
    ['metrics', before.metrics, after.metrics],
    ['notify', before.notify, after.notify],
    ['stores', before.stores, after.stores],
    ['keys.pepper', before.keys.pepper, after.keys.pepper],
    ['keys.cacheMs', before.keys.cacheMs, after.keys.cacheMs],
    ['catalog.file', before.catalog.file, after.catalog.file],
    ['catalog.store', before.catalog.store, after.catalog.store],
    ['gateway.maxBufferedBytes', before.gateway.maxBufferedBytes, after.gateway.maxBufferedBytes],
  ];
  return pairs.flatMap(([member, one, other]) =>
    JSON.stringify(one) === JSON.stringify(other) ? [] : [member],
  );
}
