/**
 * Reads a file whole, never half of one version and half of the next, and tells versions apart by
 * what the file system says of them.
 */
import type { BigIntStats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { ConfigurationError } from '../../errors.ts';

/** What a file held at one moment. */
export interface FileText {
  readonly version: string;
  readonly bytes: Buffer;
}

/** Where files are looked at. */
export interface Disk {
  /**
   * Which version lies at the path, through symbolic links. When the inode last changed is part of
   * it: no program sets that time back, and a mode that was mended shows in it.
   */
  versionAt(path: string): Promise<string>;
  /**
   * The file as it stood between two looks that agree; one that changes meanwhile is read again.
   *
   * @throws ConfigurationError where it is no file, too large or never at rest; errors of `node:fs`
   */
  read(path: string): Promise<FileText>;
}

/** No list of models is that long: whoever names such a file has named the wrong one. */
const maxFileBytes = 16 * 1024 * 1024;
const maxTries = 3;

/** The machine's own. */
export const disk: Disk = {
  versionAt: async (path) => versionOf(await stat(path, { bigint: true })),
  read: readStable,
};

async function readStable(path: string): Promise<FileText> {
  // Opening a pipe would wait for whoever writes to it.
  if (!(await stat(path)).isFile()) throw refused('is not a file. Name a file of JSON');
  for (let tries = 0; tries < maxTries; tries += 1) {
    const text = await readOnce(path);
    if (text !== undefined) return text;
  }
  throw refused('changes while it is read. Write a new file beside it, and rename that over it');
}

async function readOnce(path: string): Promise<FileText | undefined> {
  const handle = await open(path);
  try {
    const before = await handle.stat({ bigint: true });
    if (before.size > maxFileBytes) throw refused('is larger than 16 MiB. Name the list of models');
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
  return new ConfigurationError(`what the path names ${sentence}.`);
}
