/**
 * Keeps the value parsed from the last valid version of a file. It polls, because `fs.watch` loses
 * files that are replaced by a rename, and the symbolic links by which Kubernetes swaps a volume. A
 * file is read whole from a single version of it, even while it is being replaced: the file
 * system's metadata shows whether the version has changed.
 */
import type { BigIntStats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { ConfigurationError, isConfigurationError, isError } from '../errors.ts';

/** The result of one poll; undefined where nothing is to be reported. */
export type FileChange<T> =
  | { readonly type: 'loaded'; readonly value: T }
  | { readonly type: 'refused'; readonly reason: string }
  | undefined;

/** The last valid version of a file. */
export interface FileWatch<T> {
  current(): T;
  /**
   * Checks the file; calls must not overlap. Never rejects. An invalid version is reported once,
   * but tried again at each poll, since a secret that it refers to may be added later.
   */
  poll(): Promise<FileChange<T>>;
}

/** Makes the value from the file's bytes; throws a ConfigurationError where they are invalid. */
type Parse<T> = (bytes: Buffer) => Promise<T>;

interface ValidVersion<T> {
  readonly text: FileText;
  readonly value: T;
}

export interface FileNames {
  /** The beginning of each message, such as `jsonFileCatalog: `. */
  readonly reader: string;
  /** The name where the file can't be read for the first time. Default: its whole path. */
  readonly unreadable?: string;
}

/** @throws ConfigurationError with the file's name, where it is wrong, and how to fix it */
export async function fileWatch<T>(
  path: string,
  parse: Parse<T>,
  disk: Disk,
  { reader, unreadable = resolve(path) }: FileNames,
): Promise<FileWatch<T>> {
  const withFileName = (error: unknown): ConfigurationError => namedError(reader, path, error);
  let valid = await readFirst(path, parse, disk).catch((error: unknown) => {
    throw namedError(reader, path, error, unreadable);
  });
  // A version is final once two successive polls have read the same bytes: a second write within
  // one tick of the file system's clock changes only the bytes, not the version.
  let isSettled = false;
  let lastReported: string | undefined;

  const isUnchanged = async (): Promise<boolean> =>
    isSettled && (await disk.versionAt(path)) === valid.text.version;

  const take = async (text: FileText): Promise<FileChange<T>> => {
    isSettled = lastReported === undefined && isSame(text, valid.text);
    if (isSettled) return undefined;
    valid = { text, value: await parse(text.bytes) };
    lastReported = undefined;
    return { type: 'loaded', value: valid.value };
  };

  const refuse = (version: string | undefined, reason: string): FileChange<T> => {
    isSettled = false;
    const report = `${version}: ${reason}`;
    if (lastReported === report) return undefined;
    lastReported = report;
    return { type: 'refused', reason };
  };

  return {
    current: () => valid.value,
    poll: async () => {
      let version: string | undefined;
      try {
        if (await isUnchanged()) return undefined;
        const text = await disk.read(path);
        version = text.version;
        return await take(text);
      } catch (error) {
        return refuse(version, withFileName(error).message);
      }
    },
  };
}

async function readFirst<T>(path: string, parse: Parse<T>, disk: Disk): Promise<ValidVersion<T>> {
  const text = await disk.read(path);
  return { text, value: await parse(text.bytes) };
}

function isSame(one: FileText, other: FileText): boolean {
  return one.version === other.version && one.bytes.equals(other.bytes);
}

/** The problem, prefixed with the file's base name: the folders must not reach a log. */
function namedError(
  reader: string,
  path: string,
  error: unknown,
  unreadable = basename(path),
): ConfigurationError {
  const file = `${reader}${basename(path)}`;
  if (isConfigurationError(error)) {
    return new ConfigurationError(`${file}: ${error.message}`, { cause: error.cause });
  }
  // The message of a `node:fs` error contains the whole path, so only its code is kept.
  const code = isError(error) && 'code' in error ? ` (${error.code})` : '';
  return new ConfigurationError(
    `${reader}${unreadable} can't be read${code}. It must exist and be readable by this app.`,
  );
}

export interface FileText {
  readonly version: string;
  readonly bytes: Buffer;
}

/** Access to files, replaceable in tests. */
export interface Disk {
  /**
   * The version of the file at the path, following symbolic links. It includes the inode's change
   * time (ctime): no program can set that back, and it shows a corrected file mode.
   */
  versionAt(path: string): Promise<string>;
  /**
   * Reads the file; reads again where its version changed during the read.
   *
   * @throws ConfigurationError where it is not a file, is too large, or keeps changing; errors of
   *   `node:fs`
   */
  read(path: string): Promise<FileText>;
}

/** No list of models is that long: a larger file is surely the wrong one. */
const maxFileBytes = 16 * 1024 * 1024;
const maxTries = 3;

export const disk: Disk = {
  versionAt: async (path) => versionOf(await stat(path, { bigint: true })),
  read: readStable,
};

async function readStable(path: string): Promise<FileText> {
  // Opening a named pipe would block until somebody writes to it.
  if (!(await stat(path)).isFile()) throw refused('is not a regular file. Name a JSON file');
  for (let tries = 0; tries < maxTries; tries += 1) {
    const text = await readOnce(path);
    if (text !== undefined) return text;
  }
  throw refused(
    'changes while it is read. Write a new file next to it, then rename it over the old one',
  );
}

async function readOnce(path: string): Promise<FileText | undefined> {
  const handle = await open(path);
  try {
    const before = await handle.stat({ bigint: true });
    if (before.size > maxFileBytes)
      throw refused('is larger than 16 MiB. Name the file with the models');
    const bytes = await handle.readFile();
    const version = versionOf(await handle.stat({ bigint: true }));
    return version === versionOf(before) ? { version, bytes } : undefined;
  } finally {
    await handle.close();
  }
}

function versionOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

function refused(sentence: string): ConfigurationError {
  return new ConfigurationError(`the path ${sentence}.`);
}
