/** Finds what the path of an error names in a body. */
import { isJsonObject, items, type JsonValue } from '../../src/json.ts';

/**
 * Whether a path such as `input[3].content[0].type` leads to a member of the body, or to one that
 * is missing in an object of the body.
 */
export function isPathIn(body: JsonValue, path: string): boolean {
  const steps = path.match(/[^.[\]]+|\[\d+\]/g) ?? [];
  if (steps.length === 0 || joined(steps) !== path) return false;
  let value: JsonValue | undefined = body;
  for (const step of steps) {
    if (step.startsWith('[')) {
      const list = items(value);
      const index = Number(step.slice(1, -1));
      if (index >= list.length) return false;
      value = list[index];
    } else {
      if (!isJsonObject(value)) return false;
      value = Object.hasOwn(value, step) ? value[step] : undefined;
    }
  }
  return true;
}

function joined(steps: readonly string[]): string {
  return steps.map((step, at) => (at === 0 || step.startsWith('[') ? step : `.${step}`)).join('');
}
