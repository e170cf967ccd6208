/**
 * Judges the tools of a request: which of them run at the caller, which row of
 * `guarded-members.ts` the others have, and which models their members name.
 */
import { decodeString } from '../bytes/decode.ts';
import { membersOf } from '../bytes/json/read/members.ts';
import {
  afterName,
  firstInside,
  isString,
  nextInside,
  skipString,
  skipValue,
} from '../bytes/json/read/skip.ts';
import type { Member, Span } from '../bytes/json/scan/scan.ts';
import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  quote,
  spaceEnd,
} from '../bytes/json/text.ts';
import { shortText } from '../dialects/prompt-size.ts';
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

/** The members of a tool that hold functions. */
export const functionHolders: readonly string[] = ['function', 'function_declarations', 'custom'];
const plainHolders: ReadonlySet<string> = new Set([
  ...['function', 'functionDeclarations', 'function_declarations'],
]);

const rowsByType: readonly (readonly [beginning: string, row: GuardedRow])[] = guardedRows.flatMap(
  (row) => (row.toolTypes ?? []).map((type) => [lettersOf(type), row] as const),
);

/** The letters and digits of a name, in lower case. */
export function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** Whether a member of a function is known, and names no model. */
export function isFunctionMember(letters: string): boolean {
  return functionLetters.has(letters);
}

/** Whether a member of a Gemini tool is a tool that runs at the caller. */
export function isCallerMember(letters: string): boolean {
  return callerMembers.has(letters);
}

/**
 * Where a tool runs: at the `caller`, or elsewhere, as its row says. A tool without a row is
 * `unknown`, and one without a type is judged by its members.
 */
export type ToolPlace = 'caller' | 'unknown' | GuardedRow;

/** Where a tool of this type runs. */
export function placeOfTool(text: Buffer, tool: readonly Member[], type: string): ToolPlace {
  const isOwn = /^[\w -]*$/.test(type) && callerTypes.has(lettersOf(type));
  if (isOwn || datedCallerType.test(type.toLowerCase())) return 'caller';
  const row = rowOfType(type) ?? (isBuiltin(type) ? builtinRow(text, tool) : undefined);
  if (row === undefined) return 'unknown';
  return saysCaller(text, tool, row) ? 'caller' : row;
}

/**
 * The row of a tool's type or name. Case, separators and the prefix of a provider make no
 * difference.
 */
function rowOfType(type: string): GuardedRow | undefined {
  const parts = type.split(/[:/.]/).map(lettersOf);
  return rowsByType.find(([beginning]) => parts.some((part) => part.startsWith(beginning)))?.[1];
}

/** The type of a tool that runs at the provider; its function's name says which. */
function isBuiltin(type: string): boolean {
  return lettersOf(type).startsWith('builtin');
}

/** The row of a tool that its name identifies: `$web_search`. Others count as a search. */
function builtinRow(text: Buffer, tool: readonly Member[]): GuardedRow | undefined {
  const inside = tool.find(({ name }) => name === 'function');
  const members = inside === undefined ? [] : membersOf(text, inside.value);
  const named = members.find(({ name }) => name === 'name');
  return rowOfType(shortText(text, named?.value) ?? '') ?? rowOfType('web_search');
}

/** Whether a member of the tool says that it runs at the caller. */
function saysCaller(text: Buffer, tool: readonly Member[], { unless }: GuardedRow): boolean {
  if (unless === undefined) return false;
  let inside = tool;
  let value: Span | undefined;
  for (const name of unless.path) {
    value = inside.find((one) => one.name === name)?.value;
    inside = value === undefined ? [] : membersOf(text, value);
  }
  return shortText(text, value) === unless.value;
}

/**
 * The end of a tool, or of a list of functions, if it is nothing but functions with known members.
 * Most are, and need only this one pass.
 */
export function functionsEnd(bytes: Buffer, start: number): number | undefined {
  const isList = bytes[start] === openBracket;
  if (!isList && bytes[start] !== openBrace) return skipValue(bytes, start);
  let at = firstInside(bytes, start);
  while (bytes[at] !== closeBrace && bytes[at] !== closeBracket) {
    const end = isList ? functionsEnd(bytes, at) : functionMemberEnd(bytes, at);
    if (end === undefined) return undefined;
    at = nextInside(bytes, end);
  }
  return at + 1;
}

function functionMemberEnd(bytes: Buffer, start: number): number | undefined {
  const nameEnd = skipString(bytes, start);
  const name = decodeString(bytes, start + 1, nameEnd - 1);
  const value = afterName(bytes, nameEnd);
  if (functionNames.has(name)) return skipValue(bytes, value);
  if (plainHolders.has(name)) return functionsEnd(bytes, value);
  const end = skipValue(bytes, value);
  return name === 'type' && isString(bytes, value, end, 'function') ? end : undefined;
}

/**
 * Calls `found` for each member of a value, at any depth, whose name says that it names a model. It
 * does not look inside of these. One pass, because a caller may nest values as deeply as he likes.
 */
export function eachModel(
  bytes: Buffer,
  { start, end }: Span,
  found: (value: Span, path: string) => void,
): void {
  /** The name or the index of the value at each depth. */
  const path: (string | number)[] = [];
  let at = start;
  while (at < end) {
    const byte = bytes[at];
    if (byte === quote) {
      const nameEnd = skipString(bytes, at);
      const isName = bytes[spaceEnd(bytes, nameEnd)] === colon;
      const name = isName ? decodeString(bytes, at + 1, nameEnd - 1) : '';
      at = isName ? afterName(bytes, nameEnd) : nameEnd;
      if (isName) path[path.length - 1] = shortName(name);
      if (namesModel(name)) {
        const value = { start: at, end: skipValue(bytes, at) };
        found(value, pathOf(path));
        at = value.end;
      }
      continue;
    }
    const last = path.at(-1);
    if (byte === openBrace) path.push('');
    else if (byte === openBracket) path.push(0);
    else if (byte === closeBrace || byte === closeBracket) path.pop();
    else if (byte === comma && typeof last === 'number') path[path.length - 1] = last + 1;
    at += 1;
  }
}

/** Whether a member names a model: `model`, `analysis_models`, `judgeModelId`. */
export function namesModel(name: string): boolean {
  return lettersOf(name).includes('model');
}

function pathOf(path: readonly (string | number)[]): string {
  return path.map((one) => (typeof one === 'number' ? `[${one}]` : `.${one}`)).join('');
}

/** The beginning of a name that a caller chose, for a path. */
export function shortName(name: string): string {
  return name.slice(0, 64);
}
