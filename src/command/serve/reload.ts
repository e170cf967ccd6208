/** Applies a changed configuration to a running gateway, and says what needs a restart. */
import { isError } from '../../errors.ts';
import type { EventListener } from '../../events.ts';
import type { FileWatch } from '../../files/file-watch.ts';
import type { ServeConfig } from '../config/config.ts';
import type { ConfigFile, ReadConfig } from '../config/read.ts';
import type { Log } from '../log.ts';
import { gatewayOptions, type OpenGateway } from './open-gateway.ts';

interface Reloaded extends Pick<OpenGateway, 'gateway' | 'stores' | 'catalog'> {
  readonly log: Log;
  /** Receives `config_loaded` and `config_refused`. */
  readonly emit: EventListener;
  /** Receives the events of the gateway. */
  readonly onEvent: EventListener;
}

export interface LiveConfig {
  current(): ServeConfig;
  poll(): Promise<void>;
  /** Reads and applies the file again, changed or not. */
  reload(): Promise<void>;
}

/** Keeps a gateway up to date with its file. A bad version is reported, and changes nothing. */
export function liveConfig(
  file: ConfigFile,
  opened: FileWatch<ReadConfig>,
  target: Reloaded,
): LiveConfig {
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
