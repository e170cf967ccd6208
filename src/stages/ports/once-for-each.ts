/** Limits a report about models, or about anything else with a name, to one for each name. */

/** Bounds the memory, because a host's catalog may return a new id with every call. */
const maxReported = 10_000;

export function onceForEach<Rest extends readonly unknown[]>(
  report: (name: string, ...rest: Rest) => void,
): (name: string, ...rest: Rest) => void {
  const reported = new Set<string>();
  return (name, ...rest) => {
    if (reported.has(name) || reported.size >= maxReported) return;
    reported.add(name);
    report(name, ...rest);
  };
}
