/** Opens the configuration file of a command, and watches it for `serve`. */
import { basename, resolve } from 'node:path';
import { disk, type FileWatch, fileWatch } from '../files/file-watch.ts';
import type { Given } from './command.ts';
import { type ReadConfig, readConfig } from './config/read.ts';

export interface ConfigFile {
  readonly path: string;
  /** The name without its folders, which must not reach a log or a message. */
  readonly name: string;
  /** @throws ConfigurationError that names the file, the member and the remedy */
  open(): Promise<FileWatch<ReadConfig>>;
}

export function configFile({ around, text }: Pick<Given, 'around' | 'text'>): ConfigFile {
  const path = resolve(around.cwd, text('config') ?? 'tollgate.json');
  const name = basename(path);
  const names = { reader: '', unreadable: name };
  return {
    path,
    name,
    // A reload opens it again, and reports its errors to the log.
    open: () => fileWatch(path, (bytes) => readConfig(bytes, around.env), disk, names),
  };
}
