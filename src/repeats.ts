/** Bounds reports that repeat: one for each interval, which says how many it stands for. */

/** Bounds the memory. What is forgotten is reported again. */
const maxNames = 1_000;

/**
 * Makes a function that counts reports by name. It returns how many the report stands for, itself
 * and those since the last one, or undefined if the last one is less than `intervalMs` ago.
 */
export function countedRepeats(
  intervalMs: number,
  nowMs: () => number,
): (name: string) => number | undefined {
  const known = new Map<string, { readonly sinceMs: number; skipped: number }>();
  return (name) => {
    const atMs = nowMs();
    const last = known.get(name);
    if (last !== undefined && atMs - last.sinceMs < intervalMs) {
      last.skipped += 1;
      return undefined;
    }
    known.delete(name);
    known.set(name, { sinceMs: atMs, skipped: 0 });
    const [oldest] = known.keys();
    if (known.size > maxNames && oldest !== undefined) known.delete(oldest);
    return 1 + (last?.skipped ?? 0);
  };
}
