/** Gives the operator a sign-in link for the console without writing it to the log. */
import { rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isError } from '../errors.ts';
import { CommandError, exitCodes, type Surroundings } from './command.ts';
import type { AdminConfig } from './config/config.ts';

/** Where links go. */
export interface SignInLink {
  /** @throws CommandError if the file can't be written */
  write(link: string): void;
  /** Removes the file, if it was written. */
  remove(): void;
}

/**
 * Links go to standard error, or to a file that only its owner can read.
 *
 * @param folder of the configuration file; a relative path is resolved against it
 */
export function signInLink(
  { signInFile }: AdminConfig,
  folder: string,
  { err, beforeEnd }: Surroundings,
): SignInLink {
  if (signInFile === undefined) {
    return {
      write: (link) => err(`Console: ${link}\nIt works once, within ten minutes.\n`),
      remove: () => {},
    };
  }
  const path = resolve(folder, signInFile);
  let isWritten = false;
  const remove = (): void => rmSync(path, { force: true });
  const removeOwn = (): void => {
    if (!isWritten) return;
    isWritten = false;
    try {
      remove();
    } catch {
      // The process ends anyway.
    }
  };
  beforeEnd(removeOwn);
  return {
    write: (link) => {
      try {
        // Always a new file: an old one may have other permissions, or be a link to another place.
        remove();
        isWritten = true;
        writeFileSync(path, `${link}\n`, { mode: 0o600, flag: 'wx' });
      } catch (error) {
        const code: unknown = isError(error) ? Reflect.get(error, 'code') : undefined;
        const message = `admin.signInFile can't be written (${code}). Its folder must exist.`;
        throw new CommandError(exitCodes.unreachable, message, error);
      }
    },
    remove: removeOwn,
  };
}
