/** The version of this package. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { member, parseJson } from '../json.ts';

/** The version in the nearest package.json, which is above the source and above the build. */
export function packageVersion(): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const version = versionIn(join(folder, 'package.json'));
    if (version !== undefined) return version;
  }
  return 'unknown';
}

function versionIn(path: string): string | undefined {
  try {
    const version = member(parseJson(readFileSync(path, 'utf8')), 'version');
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}
