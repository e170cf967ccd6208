/**
 * Keeps what was made of the last good version of a file. By looking, not by `fs.watch`: that loses
 * files which are renamed over, and the links by which Kubernetes swaps a volume.
 */
import { basename } from 'node:path';
import { ConfigurationError } from '../../errors.ts';
import type { Disk, FileText } from './stable-read.ts';

/** What a look at the file has brought; nothing where it is as it was. */
export type FileNews<T> =
  | { readonly type: 'loaded'; readonly value: T }
  | { readonly type: 'refused'; readonly reason: string }
  | undefined;

/** A file as it was when it was last good. */
export interface FileWatch<T> {
  current(): T;
  /**
   * Looks at the file, one look after the other. Never rejects. A bad version is told once, and
   * tried at each look: what it refers to may come.
   */
  look(): Promise<FileNews<T>>;
}

/** What the file is made into; says what is wrong with it by a ConfigurationError. */
type Make<T> = (bytes: Buffer) => Promise<T>;

interface Good<T> {
  readonly text: FileText;
  readonly value: T;
}

/**
 * Reads the file for the first time.
 *
 * @throws ConfigurationError that names the file by its last part, the place in it and the cure
 */
export async function fileWatch<T>(path: string, make: Make<T>, disk: Disk): Promise<FileWatch<T>> {
  let good = await readFirst(path, make, disk);
  // A version counts once it was read twice, a look apart: a second write within one tick of the
  // file system's clock is told by nothing but its bytes.
  let isSettled = false;
  let told: string | undefined;

  const isUnchanged = async (): Promise<boolean> =>
    isSettled && (await disk.versionAt(path)) === good.text.version;

  const take = async (text: FileText): Promise<FileNews<T>> => {
    isSettled = told === undefined && isSame(text, good.text);
    if (isSettled) return undefined;
    good = { text, value: await make(text.bytes) };
    told = undefined;
    return { type: 'loaded', value: good.value };
  };

  const refuse = (version: string | undefined, reason: string): FileNews<T> => {
    isSettled = false;
    const said = `${version}: ${reason}`;
    if (told === said) return undefined;
    told = said;
    return { type: 'refused', reason };
  };

  return {
    current: () => good.value,
    look: async () => {
      let version: string | undefined;
      try {
        if (await isUnchanged()) return undefined;
        const text = await disk.read(path);
        version = text.version;
        return await take(text);
      } catch (error) {
        return refuse(version, placed(path, error).message);
      }
    },
  };
}

async function readFirst<T>(path: string, make: Make<T>, disk: Disk): Promise<Good<T>> {
  try {
    const text = await disk.read(path);
    return { text, value: await make(text.bytes) };
  } catch (error) {
    throw placed(path, error);
  }
}

function isSame(one: FileText, other: FileText): boolean {
  return one.version === other.version && one.bytes.equals(other.bytes);
}

/** The same problem with the file's name before it: folders are nobody's business. */
function placed(path: string, error: unknown): ConfigurationError {
  const file = `jsonFileCatalog: ${basename(path)}`;
  if (error instanceof ConfigurationError) {
    const problem = error.message.replace(/^staticCatalog: /, '');
    return new ConfigurationError(`${file}: ${problem}`, { cause: error.cause });
  }
  // An error of `node:fs` has the whole path in its message.
  const code = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
  return new ConfigurationError(
    `${file} can't be read${code}. Put it there, readable by this app.`,
  );
}
