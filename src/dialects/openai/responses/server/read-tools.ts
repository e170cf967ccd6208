/**
 * Reads the tools of a Responses request, which may be in `tools`, in `additional_tools` items and
 * in the output of a tool search. Tools in namespaces become functions of their own.
 */

import { customParameters } from '../../../../canonical/custom-tools.ts';
import { jsonText } from '../../../../canonical/raw-json.ts';
import type { BuiltInTool, FunctionTool, Tool, ToolChoice } from '../../../../canonical/request.ts';
import { isJsonObject, items, type JsonObject, member } from '../../../../json.ts';
import { notPortable } from '../../../not-portable.ts';
import {
  choiceMode,
  flagIn,
  type ObjectAtPath,
  objectIn,
  objectsIn,
  presentMember,
  refuse,
  requiredText,
  textIn,
} from '../../../read-members.ts';
import type { CallerTool } from './exchange.ts';
import { keyOf, type ToolNames } from './tool-names.ts';

export interface DeclaredTool {
  readonly caller: CallerTool;
  /** Its name is that without the namespace. */
  readonly tool: FunctionTool;
}

export interface DeclaredTools {
  readonly functions: readonly DeclaredTool[];
  /** Tools that only OpenAI runs. Writers refuse them, or leave them out. */
  readonly builtIn: readonly BuiltInTool[];
  readonly types: ReadonlySet<string>;
  /** The paths of searches for tools that the client runs. */
  readonly clientSearches: readonly string[];
}

interface ReadState {
  readonly functions: Map<string, DeclaredTool>;
  readonly builtIn: BuiltInTool[];
  readonly searches: BuiltInTool[];
  readonly webSearches: BuiltInTool[];
  readonly types: Set<string>;
  isAnyDeferred: boolean;
  readonly drop: (at: string) => void;
}

/** Reads the tools of the body and of the items. */
export function readTools(
  body: JsonObject,
  input: readonly ObjectAtPath[],
  drop: (at: string) => void,
): DeclaredTools {
  const state: ReadState = {
    functions: new Map(),
    builtIn: [],
    searches: [],
    webSearches: [],
    types: new Set(),
    isAnyDeferred: false,
    drop,
  };
  for (const tool of objectsIn(body, 'tools', '')) readTool(tool, state, { isLoaded: false });
  for (const { value: item, at } of input) {
    const type = member(item, 'type');
    if (type !== 'additional_tools' && type !== 'tool_search_output') continue;
    const isLoaded = type === 'tool_search_output';
    for (const tool of objectsIn(item, 'tools', at)) readTool(tool, state, { isLoaded });
  }
  const functions = [...state.functions.values()];
  const builtIn = [...state.builtIn, ...requiredSearches(state)];
  const clientSearches = state.searches.filter(isRunByClient).map(({ at }) => at);
  return { functions, builtIn, types: state.types, clientSearches };
}

export function namedTools(
  { functions, builtIn }: DeclaredTools,
  flatName: (tool: CallerTool) => string,
): readonly Tool[] {
  const named = functions.map(({ caller, tool }) => ({ ...tool, name: flatName(caller) }));
  return [...named, ...builtIn];
}

interface Place {
  /** A tool search found the tool, so that it is no longer deferred. */
  readonly isLoaded: boolean;
  readonly namespace?: string;
  /** Text in front of the tool's description. */
  readonly heading?: string;
}

function readTool(located: ObjectAtPath, state: ReadState, place: Place): void {
  const { value: tool, at } = located;
  const type = requiredText(tool, 'type', at);
  state.types.add(type);
  if (type === 'function' || type === 'custom') {
    addFunction(located, state, { ...place, kind: type });
    return;
  }
  if (type === 'namespace' && place.namespace === undefined) {
    readNamespace(located, state, place);
    return;
  }
  const builtIn: BuiltInTool = {
    kind: 'built_in',
    // No upstream of a translated call has it, OpenAI's chat completions included.
    provider: 'openai-responses',
    name: type,
    value: tool,
    at,
    typeAt: `${at}.type`,
  };
  if (type.startsWith('web_search')) state.webSearches.push(builtIn);
  else if (type === 'tool_search') state.searches.push(builtIn);
  else state.builtIn.push(builtIn);
}

/** The model reads a namespace's description with the first of its tools. */
function readNamespace({ value, at }: ObjectAtPath, state: ReadState, { isLoaded }: Place): void {
  const namespace = requiredText(value, 'name', at);
  const heading = textIn(value, 'description', at) ?? '';
  for (const [index, tool] of objectsIn(value, 'tools', at).entries()) {
    const place = { isLoaded, namespace };
    readTool(tool, state, index === 0 && heading !== '' ? { ...place, heading } : place);
  }
}

/** Declared again, a tool has the newer definition, as after a second tool search. */
function addFunction(
  located: ObjectAtPath,
  state: ReadState,
  place: Place & { readonly kind: CallerTool['kind'] },
): void {
  const { value: tool, at } = located;
  const name = requiredText(tool, 'name', at);
  const caller: CallerTool = { namespace: place.namespace, name, kind: place.kind };
  checkCallers(located, state);
  if (flagIn(tool, 'defer_loading', at) === true && !place.isLoaded) {
    state.isAnyDeferred = true;
    state.drop(`${at}.defer_loading`);
  }
  if (flagIn(tool, 'async', at) === true) state.drop(`${at}.async`);
  const description = withHeading(textIn(tool, 'description', at), place.heading);
  const read = place.kind === 'custom' ? readCustom(located) : readFunction(located);
  const key = keyOf(caller);
  const earlier = state.functions.get(key);
  const declared: DeclaredTool = { caller, tool: { ...read, name, description } };
  if (earlier !== undefined && definitionOf(earlier) !== definitionOf(declared)) {
    state.drop(earlier.tool.at);
  }
  state.functions.set(key, declared);
}

function withHeading(
  description: string | undefined,
  heading: string | undefined,
): string | undefined {
  if (heading === undefined) return description;
  return description === undefined || description === '' ? heading : `${heading}\n\n${description}`;
}

function readFunction({ value: tool, at }: ObjectAtPath): Omit<FunctionTool, 'name'> {
  return {
    kind: 'function',
    description: undefined,
    parameters: objectIn(tool, 'parameters', at),
    strict: flagIn(tool, 'strict', at),
    strictAt: `${at}.strict`,
    at,
  };
}

function readCustom({ value: tool, at }: ObjectAtPath): Omit<FunctionTool, 'name'> {
  return {
    kind: 'function',
    description: undefined,
    parameters: customParameters,
    strict: undefined,
    at,
    custom: { format: objectIn(tool, 'format', at), formatAt: `${at}.format` },
  };
}

/** Code at OpenAI may call tools too (programmatic tool calling); elsewhere only the model can. */
function checkCallers({ value: tool, at }: ObjectAtPath, { drop }: ReadState): void {
  const callers = items(presentMember(tool, 'allowed_callers'));
  if (callers.every((caller) => caller === 'direct')) return;
  if (callers.includes('direct')) {
    drop(`${at}.allowed_callers`);
    return;
  }
  throw notPortable(
    `${at}.allowed_callers`,
    'Only code that OpenAI runs may call this tool, and this model has no such code. Allow ' +
      'direct calls.',
  );
}

function definitionOf({ caller, tool }: DeclaredTool): string {
  const { description, parameters, strict, custom } = tool;
  return jsonText([caller.kind, description, parameters, strict, custom?.format]);
}

/**
 * The searches that writers must refuse if the upstream lacks them; the others are dropped. Codex
 * declares a web search in every request, so it is required only if there are no other tools. A
 * search for tools is required only if OpenAI would run it over tools that the model doesn't see.
 */
function requiredSearches(state: ReadState): readonly BuiltInTool[] {
  const hasOthers = state.functions.size > 0 || state.builtIn.length > 0;
  const webSearches = hasOthers ? [] : state.webSearches;
  const searches = state.searches.filter((tool) => state.isAnyDeferred && !isRunByClient(tool));
  const required = new Set([...webSearches, ...searches]);
  for (const tool of [...state.webSearches, ...state.searches]) {
    if (!required.has(tool)) state.drop(tool.at);
  }
  return [...required];
}

function isRunByClient({ value }: BuiltInTool): boolean {
  return member(value, 'execution') === 'client';
}

export function readToolChoice(
  body: JsonObject,
  names: ToolNames,
  drop: (at: string) => void,
): ToolChoice | undefined {
  const choice = presentMember(body, 'tool_choice');
  if (choice === undefined) return undefined;
  const mode = choiceMode(choice);
  if (mode !== undefined) return { mode, names: [] };
  if (!isJsonObject(choice)) return refuseChoice();
  const located = { value: choice, at: 'tool_choice' };
  if (textIn(choice, 'type', 'tool_choice') === 'allowed_tools') {
    return readAllowed(choice, names, drop);
  }
  const name = flatNameOf(located, names);
  if (name !== undefined) return { mode: 'required', names: [name] };
  throw notPortable(
    'tool_choice',
    'This model has no such built-in tool. Choose a function, or leave the choice to the model.',
  );
}

/** Only tools that the caller runs can be allowed; others are left out. */
function readAllowed(choice: JsonObject, names: ToolNames, drop: (at: string) => void): ToolChoice {
  const mode = choiceMode(presentMember(choice, 'mode'));
  if (mode !== 'auto' && mode !== 'required') {
    return refuse('tool_choice.mode', 'must be "auto" or "required".');
  }
  const tools = objectsIn(choice, 'tools', 'tool_choice');
  const allowed = tools.flatMap((tool) => {
    const name = flatNameOf(tool, names);
    if (name === undefined) drop(tool.at);
    return name === undefined ? [] : [name];
  });
  if (allowed.length > 0) return { mode, names: allowed };
  if (tools.length === 0) return refuse('tool_choice.tools', 'must name at least one tool.');
  throw notPortable(
    'tool_choice.tools',
    'This model has none of the allowed tools. Allow a function or a custom tool.',
  );
}

/** The name of a function or custom tool in the common form; undefined for other tools. */
function flatNameOf({ value: tool, at }: ObjectAtPath, names: ToolNames): string | undefined {
  const type = requiredText(tool, 'type', at);
  if (type !== 'function' && type !== 'custom') return undefined;
  const name = requiredText(tool, 'name', at);
  return names.flat({ namespace: textIn(tool, 'namespace', at), name });
}

function refuseChoice(): never {
  return refuse(
    'tool_choice',
    'must be "none", "auto", "required", or an object that names a tool or allowed tools.',
  );
}
