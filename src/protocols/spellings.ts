/**
 * Refuses bodies that set one thing twice with different values, or under a name in another case:
 * the gateway might read one and the upstream the other.
 */
import { none, root, type Tape, type Value } from '../bytes/json/tape.ts';
import { type GatewayError, invalidRequest } from '../errors.ts';
import { guardedRows } from './guarded-members.ts';

/** Refuses different values under names that mean the same. Null counts as missing. */
export function refuseDifferent(
  tape: Tape,
  names: readonly string[],
  { object = root, at = '' }: Inside = {},
): void {
  let first = none;
  const end = tape.after(object);
  for (let value = tape.firstMember(object); value < end; value = tape.after(value)) {
    if (tape.isNull(value) || !names.includes(tape.name(value))) continue;
    if (first === none) first = value;
    else if (!tape.raw(first).equals(tape.raw(value))) {
      throw different(tape.name(first), tape.name(value), at);
    }
  }
}

interface Inside {
  readonly object?: Value;
  readonly at?: string;
}

/**
 * Refuses different values for a member that is present in camelCase and in snake_case, because
 * Google accepts both.
 */
export function refuseTwoSpellings(tape: Tape, inside: Inside = {}): void {
  const { object = root } = inside;
  const end = tape.after(object);
  for (let value = tape.firstMember(object); value < end; value = tape.after(value)) {
    const name = tape.name(value);
    if (!name.includes('_')) continue;
    const camel = camelCase(name);
    if (tape.get(object, camel) !== none) refuseDifferent(tape, [camel, name], inside);
  }
}

/** The name that Google's JSON also accepts: `max_output_tokens` becomes `maxOutputTokens`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** The members by which a call is routed, framed, bounded, priced and checked. */
const readNames: readonly string[] = [
  ...['model', 'stream', 'stream_options', 'include_usage', 'n', 'size', 'quality'],
  ...['max_tokens', 'max_completion_tokens'],
  ...['max_output_tokens', 'candidate_count', 'prediction', 'dimensions', 'response_format'],
  ...['messages', 'input', 'prompt', 'system', 'instructions', 'contents', 'system_instruction'],
  ...['content', 'parts', 'tool', 'definition', 'definitions', 'requests', 'extra_body', 'store'],
  ...['background', 'previous_response_id', 'cached_content', 'generation_config'],
  ...guardedRows.flatMap(({ places = [] }) => places.flatMap((path) => path.split(/[.[\]]+/))),
];
const spelledByFold: ReadonlyMap<string, string> = new Map(
  readNames.flatMap((name) => [name, camelCase(name)]).map((name) => [folded(name), name]),
);
/** No folding makes a name shorter. */
const longest = Math.max(...readNames.map(({ length }) => length));
/** Names that are folded already, as most are. */
const isPlain = /^[a-z0-9_]*$/;

/**
 * Refuses a name that differs in nothing but case from one that the gateway reads. Servers in Go
 * and .NET ignore case: they would run the model that `Model` names.
 */
export function refuseOtherCase(name: string, at = ''): void {
  if (name.length > longest) return;
  const spelled = spelledByFold.get(isPlain.test(name) ? name : folded(name));
  if (spelled === undefined || spelled === name) return;
  const param = `${at}${name}`;
  throw invalidRequest(`Write \`${param}\` as \`${spelled}\`.`, param);
}

/** Equal for names that differ in case alone, also by `ſ` and the Kelvin sign, as Go has it. */
function folded(name: string): string {
  return name.toUpperCase().toLowerCase();
}

function different(first: string, second: string, at: string): GatewayError {
  return invalidRequest(
    `\`${at}${first}\` and \`${at}${second}\` differ. Send only one of them.`,
    `${at}${first}`,
  );
}
