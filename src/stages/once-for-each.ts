/** Reports what concerns a name, once for each name. */

/** A catalog that makes up ids must not fill the memory. */
const maxReported = 10_000;

/** Passes each name on the first time that it comes. */
export function onceForEach(report: (name: string) => void): (name: string) => void {
  const reported = new Set<string>();
  return (name) => {
    if (reported.has(name) || reported.size >= maxReported) return;
    reported.add(name);
    report(name);
  };
}
