/**
 * Reads all of a file from a single version of it, even while it is being replaced. The file
 * system's metadata shows whether the version has changed.
 */
import type { BigIntStats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { ConfigurationError } from '../errors.ts';

/** The content of a file at one moment, and its version. */
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

/** The file system of this machine. */
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
