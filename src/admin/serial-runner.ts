/**
 * Runs the changes of one record one after another. Each reads the record and writes a part of it
 * back, so one of two concurrent changes would be lost. Changes by other processes are not waited
 * for.
 */

/** Runs a change after all earlier ones of the same name. */
export type RunSerially = <T>(name: string, change: () => Promise<T>) => Promise<T>;

/** Each call of this function makes a runner whose changes wait only for each other. */
export function serialRunner(): RunSerially {
  const last = new Map<string, Promise<unknown>>();
  return (name, change) => {
    const result = (last.get(name) ?? Promise.resolve()).then(change, change);
    last.set(name, result);
    const forget = (): void => {
      if (last.get(name) === result) last.delete(name);
    };
    result.then(forget, forget);
    return result;
  };
}
