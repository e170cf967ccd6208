/** Reads the name of a model in a path. */

/** Removes the `models/` that Google's clients add to a plain name; other resources are kept. */
export function modelName(resource: string): string {
  return resource.startsWith('models/') ? resource.slice('models/'.length) : resource;
}

/** The text without percent-encoding; undefined if it is not valid. */
export function decodeOnce(raw: string): string | undefined {
  if (!raw.includes('%')) return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    return undefined;
  }
}

/** No control characters, and no empty, `.` or `..` segments: no model has such a name. */
export function isPlain(rest: string): boolean {
  return (
    !/[\p{Cc}\\]/u.test(rest) &&
    !rest.split('/').some((segment) => segment === '.' || segment === '..' || segment === '')
  );
}
