/**
 * Judges the tools of a request: which of them run at the caller, which row of
 * `guarded-members.ts` the others have, and which models their members name.
 */
import type { Tape, Value } from '../bytes/json/tape.ts';
import { type GuardedRow, guardedRows } from './guarded-members.ts';

/**
 * The types of tools that run at the caller, and of those that only hold or name other tools, as
 * {@link lettersOf} writes them. A prefix makes a type unknown: `vendor:function` is not listed.
 */
const callerTypes: ReadonlySet<string> = new Set([
  ...['function', 'custom', 'namespace', 'tooldefinition', 'toolreference'],
  // OpenAI's; `shell` and `tool_search` run at the caller only if a member says so.
  ...['localshell', 'applypatch', 'computer', 'computerusepreview'],
]);
/** Anthropic's tools that run at the caller have a date. */
const datedCallerType =
  /^(?:bash|text_editor|memory|computer|computer_toolset|browser_toolset)_\d{8}$/;

/** The tools of Gemini that run at the caller. `functionDeclarations` are functions. */
const callerMembers: ReadonlySet<string> = new Set(['computeruse']);

/** The members of tools that run at the caller. Schemas may have members of any name. */
const functionMembers: readonly string[] = [
  ...['name', 'description', 'parameters', 'parametersJsonSchema', 'parameters_json_schema'],
  ...['strict', 'input_schema', 'output_schema', 'format', 'cache_control', 'defer_loading'],
  ...['allowed_callers', 'input_examples', 'examples', 'eager_input_streaming', 'async'],
  ...['response', 'responseJsonSchema', 'response_json_schema', 'behavior'],
];
const functionNames: ReadonlySet<string> = new Set(functionMembers);
const functionLetters: ReadonlySet<string> = new Set(functionMembers.map(lettersOf));

export const functionHolders: readonly string[] = ['function', 'function_declarations', 'custom'];
const plainHolders: ReadonlySet<string> = new Set([
  ...['function', 'functionDeclarations', 'function_declarations'],
]);

const rowsByType: readonly (readonly [beginning: string, row: GuardedRow])[] = guardedRows.flatMap(
  (row) => (row.toolTypes ?? []).map((type) => [lettersOf(type), row] as const),
);

export function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

export function isFunctionMember(letters: string): boolean {
  return functionLetters.has(letters);
}

export function isCallerMember(letters: string): boolean {
  return callerMembers.has(letters);
}

/**
 * Where a tool runs: at the `caller`, or elsewhere, as its row says. A tool without a row is
 * `unknown`, and one without a type is judged by its members.
 */
export type ToolPlace = 'caller' | 'unknown' | GuardedRow;

export function placeOfTool(tape: Tape, tool: Value, type: string): ToolPlace {
  const isOwn = /^[\w -]*$/.test(type) && callerTypes.has(lettersOf(type));
  if (isOwn || datedCallerType.test(type.toLowerCase())) return 'caller';
  const row = rowOfType(type) ?? (isBuiltin(type) ? builtinRow(tape, tool) : undefined);
  if (row === undefined) return 'unknown';
  return saysCaller(tape, tool, row) ? 'caller' : row;
}

/** Case, separators and the prefix of a provider make no difference. */
function rowOfType(type: string): GuardedRow | undefined {
  const parts = type.split(/[:/.]/).map(lettersOf);
  return rowsByType.find(([beginning]) => parts.some((part) => part.startsWith(beginning)))?.[1];
}

/** The type of a tool that runs at the provider; its function's name says which. */
function isBuiltin(type: string): boolean {
  return lettersOf(type).startsWith('builtin');
}

/** The row of a tool that its name identifies: `$web_search`. Others count as a search. */
function builtinRow(tape: Tape, tool: Value): GuardedRow | undefined {
  const named = tape.get(tape.get(tool, 'function'), 'name');
  return rowOfType(tape.shortText(named) ?? '') ?? rowOfType('web_search');
}

function saysCaller(tape: Tape, tool: Value, { unless }: GuardedRow): boolean {
  if (unless === undefined) return false;
  let value = tool;
  for (const name of unless.path) value = tape.get(value, name);
  return tape.shortText(value) === unless.value;
}

export function isPlainFunction(tape: Tape, value: Value): boolean {
  const end = tape.after(value);
  if (tape.isArray(value)) {
    for (let one = tape.first(value); one < end; one = tape.after(one)) {
      if (!isPlainFunction(tape, one)) return false;
    }
  } else if (tape.isObject(value)) {
    for (let one = tape.first(value); one < end; one = tape.after(one)) {
      if (!isPlainMember(tape, one)) return false;
    }
  }
  return true;
}

function isPlainMember(tape: Tape, value: Value): boolean {
  const name = tape.name(value);
  if (functionNames.has(name)) return true;
  if (plainHolders.has(name)) return isPlainFunction(tape, value);
  return name === 'type' && tape.shortText(value) === 'function';
}

/** Visits members at any depth whose name names a model. It does not look inside of these. */
export function eachModel(
  tape: Tape,
  value: Value,
  found: (value: Value, path: string) => void,
  path = '',
): void {
  const isArray = tape.isArray(value);
  if (!isArray && !tape.isObject(value)) return;
  const end = tape.after(value);
  let index = 0;
  for (let one = tape.first(value); one < end; one = tape.after(one)) {
    const name = isArray ? '' : tape.name(one);
    const inside = isArray ? `${path}[${index}]` : `${path}.${shortName(name)}`;
    if (namesModel(name)) found(one, inside);
    else eachModel(tape, one, found, inside);
    index += 1;
  }
}

export function namesModel(name: string): boolean {
  return lettersOf(name).includes('model');
}

export function shortName(name: string): string {
  return name.slice(0, 64);
}
