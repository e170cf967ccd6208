/** Limits how many values an attribute of a metric can have: each value is a series of its own. */
import { otherValue } from './names.ts';

/** The value itself, or `_OTHER` if `max` others were seen before it. */
export function boundedValues(max: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= max) return otherValue;
    known.add(value);
    return value;
  };
}
