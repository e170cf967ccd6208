/** Writes the tools and the tool choice. */

import { type FunctionNames, functionNames } from '../../../canonical/function-names.ts';
import {
  type BuiltInTool,
  type ContentRequest,
  droppedWithoutTools,
  type FunctionTool,
  namesOfCalls,
  namesOfFunctions,
  type Tool,
} from '../../../canonical/request.ts';
import { isOverBudget, newShapeBudget, type ShapeBudget } from '../../../canonical/schema/shape.ts';
import {
  closedSchema,
  holdsMap,
  isLoosened,
  objectSchema,
} from '../../../canonical/schema/strictness.ts';
import { type GatewayError, invalidRequest } from '../../../errors.ts';
import { isJsonObject, type JsonObject } from '../../../json.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';
import { notPortable } from '../../not-portable.ts';
import type { Block, PartTarget } from './written.ts';

export interface WrittenTools {
  readonly tools: readonly Block[];
  readonly choice: Block | undefined;
  readonly requiresToolCall: boolean;
  readonly dropped: readonly string[];
}

export function anthropicNames(request: ContentRequest): FunctionNames {
  const rule = { pattern: /^[a-zA-Z0-9_-]{1,128}$/, maxLength: 128 };
  return functionNames(namesOfFunctions(request), rule);
}

export function writeTools(
  request: ContentRequest,
  target: PartTarget,
  replyTool: Block | undefined,
): WrittenTools {
  if (replyTool !== undefined) {
    const choice = { type: 'tool', name: replyTool.name, disable_parallel_tool_use: true };
    const dropsParallel = request.parallelToolCalls === false;
    const dropped = dropsParallel ? [request.names.parallelToolCalls] : [];
    return { tools: [replyTool], choice, requiresToolCall: true, dropped };
  }
  const kept = request.tools.filter((tool) => isOffered(tool, target.capabilities));
  const offered = allowedTools(kept, request);
  const budget = newShapeBudget();
  const tools = offered.map((tool) =>
    tool.kind === 'function' ? writeFunction(tool, target, budget) : writeBuiltIn(tool),
  );
  const isLeftOut = (tool: Tool): boolean => !isOffered(tool, target.capabilities);
  const dropped = [
    ...request.tools.filter(isLeftOut).map(({ at }) => at),
    ...offered.flatMap((tool) => notFullyEnforced(tool, target.capabilities, budget)),
    ...(isOverBudget(budget) ? ['tools.schema'] : []),
  ];
  if (tools.length === 0) {
    const allDropped = [...dropped, ...droppedWithoutTools(request)];
    return { ...declarationsForHistory(request, target), dropped: allDropped };
  }
  return { tools, ...writeChoice(request, target, dropped) };
}

function isOffered(tool: Tool, { dropBuiltInTools }: ResolvedCapabilities): boolean {
  return tool.kind === 'function' || tool.provider === 'anthropic' || !dropBuiltInTools;
}

/** Anthropic's tool choice can't name several tools, so that only the allowed ones are declared. */
function allowedTools(
  tools: readonly Tool[],
  { toolChoice, names }: ContentRequest,
): readonly Tool[] {
  const wanted = toolChoice?.names ?? [];
  if (wanted.length === 0) {
    if (toolChoice?.mode !== 'required' || tools.length > 0) return tools;
    throw badChoice('requires a call, but there are no tools; declare one.', names.toolChoice);
  }
  const known = new Set(tools.map(({ name }) => name));
  const missing = wanted.find((name) => !known.has(name));
  if (missing !== undefined) {
    throw badChoice('names a function that is not declared; declare it.', names.toolChoice);
  }
  // A single required tool is named in the tool choice, and the declarations stay unchanged so that
  // the prompt cache still matches.
  const isNamed = toolChoice?.mode === 'required' && wanted.length === 1;
  const isWanted = new Set(wanted);
  if (isNamed) return tools;
  // A tool of another provider is kept, so that the error names it.
  return tools.filter((tool) => isWanted.has(tool.name) || isForeign(tool));
}

function isForeign(tool: Tool): boolean {
  return tool.kind === 'built_in' && tool.provider !== 'anthropic';
}

function badChoice(problem: string, param: string): GatewayError {
  return invalidRequest(`The tool choice ${problem}`, param);
}

function writeFunction(
  tool: FunctionTool,
  { capabilities, names }: PartTarget,
  budget: ShapeBudget,
): Block {
  const open = objectSchema(tool.parameters, budget);
  const isStrict = enforcesStrict(tool, open, capabilities);
  return {
    name: names.upstream(tool.name),
    description: tool.description,
    input_schema: isStrict ? closedSchema(open).schema : open,
    strict: isStrict ? true : undefined,
    cache_control: tool.cacheControl,
  };
}

function writeBuiltIn({ provider, value, at, typeAt = at }: BuiltInTool): Block {
  if (provider === 'anthropic' && isJsonObject(value)) return value;
  throw notPortable(
    typeAt,
    "This model doesn't have another provider's built-in tools; leave the tool out.",
  );
}

function notFullyEnforced(
  tool: Tool,
  capabilities: ResolvedCapabilities,
  budget: ShapeBudget,
): readonly string[] {
  if (tool.kind !== 'function') return [];
  const schema = isLoosened(tool.parameters) ? ['tools.schema'] : [];
  if (tool.strict !== true) return schema;
  const strict = tool.strictAt ?? `${tool.at}.strict`;
  const open = objectSchema(tool.parameters, budget);
  if (!enforcesStrict(tool, open, capabilities)) return [...schema, strict];
  return closedSchema(open).changed ? ['tools.schema', strict] : schema;
}

/** Closing the schema of a map, without fixed names, would only allow an empty object. */
function enforcesStrict(
  { strict }: FunctionTool,
  schema: JsonObject,
  { strictTools }: ResolvedCapabilities,
): boolean {
  return strict === true && strictTools && !holdsMap(schema);
}

function writeChoice(
  { toolChoice, parallelToolCalls, names }: ContentRequest,
  target: PartTarget,
  dropped: readonly string[],
): Pick<WrittenTools, 'choice' | 'requiresToolCall' | 'dropped'> {
  const isNone = toolChoice?.mode === 'none';
  if (isNone) {
    const allDropped =
      parallelToolCalls === false ? [...dropped, names.parallelToolCalls] : dropped;
    return { choice: { type: 'none' }, requiresToolCall: false, dropped: allDropped };
  }
  const isSingle = parallelToolCalls === false;
  const isSupported = target.capabilities.parallelToolCalls;
  const single = isSingle && isSupported ? { disable_parallel_tool_use: true } : {};
  const allDropped = isSingle && !isSupported ? [...dropped, names.parallelToolCalls] : dropped;
  if (toolChoice?.mode !== 'required') {
    const isNeeded = toolChoice !== undefined || (isSingle && isSupported);
    return {
      choice: isNeeded ? { type: 'auto', ...single } : undefined,
      requiresToolCall: false,
      dropped: allDropped,
    };
  }
  const [name, ...others] = toolChoice.names;
  const choice =
    name === undefined || others.length > 0
      ? { type: 'any', ...single }
      : { type: 'tool', name: target.names.upstream(name), ...single };
  return { choice, requiresToolCall: true, dropped: allDropped };
}

/** Calls in the history require declarations, although none of these tools may be called again. */
function declarationsForHistory(
  { turns }: ContentRequest,
  { names }: PartTarget,
): Omit<WrittenTools, 'dropped'> {
  const called = [...new Set(turns.flatMap(({ parts }) => namesOfCalls(parts)))];
  const tools = called.map((name) => ({
    name: names.upstream(name),
    input_schema: objectSchema(undefined),
  }));
  return {
    tools,
    choice: called.length === 0 ? undefined : { type: 'none' },
    requiresToolCall: false,
  };
}
