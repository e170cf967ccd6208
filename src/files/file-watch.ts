/**
 * Keeps the value parsed from the last valid version of a file. It polls, because `fs.watch` loses
 * files that are replaced by a rename, and the symbolic links by which Kubernetes swaps a volume.
 */
import { basename, resolve } from 'node:path';
import { ConfigurationError, isConfigurationError, isError } from '../errors.ts';
import type { Disk, FileText } from './stable-read.ts';

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

/** How error messages name the file. */
export interface FileNames {
  /** The beginning of each message. Default: `jsonFileCatalog: `. */
  readonly reader?: string;
  /** The name where the file can't be read for the first time. Default: its whole path. */
  readonly unreadable?: string;
}

/**
 * Reads the file for the first time.
 *
 * @throws ConfigurationError with the file's name, where it is wrong, and how to fix it
 */
export async function fileWatch<T>(
  path: string,
  parse: Parse<T>,
  disk: Disk,
  { reader = 'jsonFileCatalog: ', unreadable = resolve(path) }: FileNames = {},
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
