/**
 * Changes one after another: each reads a record and writes a part of it back, so that of two at
 * once one would be lost. Other processes are not waited for.
 */

/** Runs a change after all earlier ones of the same name. */
export type InTurn = <T>(name: string, change: () => Promise<T>) => Promise<T>;

/** Turns that are independent of those of other calls of this function. */
export function turns(): InTurn {
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
