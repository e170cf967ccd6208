/** Writes the caller's functions and custom tools, and which of them the model may or must call. */

import { grammarOf } from '../../../canonical/custom-tools.ts';
import type { FunctionNames } from '../../../canonical/function-names.ts';
import type { JsonNode } from '../../../canonical/raw-json.ts';
import {
  type BuiltInTool,
  type ContentRequest,
  droppedWithoutTools,
  type FunctionTool,
  type ToolChoice,
} from '../../../canonical/request.ts';
import { isOverBudget, newShapeBudget } from '../../../canonical/schema/shape.ts';
import { isLoosened, isStrictSchema, objectSchema } from '../../../canonical/schema/strictness.ts';
import { invalidRequest } from '../../../errors.ts';
import { isJsonObject, type JsonObject } from '../../../json.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';
import { notPortable } from '../../not-portable.ts';
import { droppedPiece, emptyPiece, membersPiece, mergePieces, type Piece } from './piece.ts';

export interface ToolContext {
  readonly flags: ResolvedCapabilities;
  readonly names: FunctionNames;
  readonly customNames: ReadonlySet<string>;
}

export function toolsPiece(request: ContentRequest, context: ToolContext): Piece {
  const { tools, dropped } = toolList(request, context);
  const choice = choicePiece(request, context);
  // OpenAI rejects both members below if there are no tools, and they would have no effect.
  if (tools.length === 0) {
    return { members: {}, dropped: [...dropped, ...droppedWithoutTools(request)] };
  }
  // Without a tool choice, tools that are not offered are the only ones that cannot be called.
  if (context.flags.toolChoice === 'auto' && request.toolChoice?.mode === 'none') {
    return { members: {}, dropped };
  }
  return mergePieces([
    { members: { tools: offeredTools(tools, request, context) }, dropped },
    choice,
    parallelPiece(request, context),
  ]);
}

interface NamedTool {
  readonly name: string | undefined;
  readonly node: JsonNode;
}

function toolList(
  { tools }: ContentRequest,
  context: ToolContext,
): { readonly tools: readonly NamedTool[]; readonly dropped: readonly string[] } {
  const budget = newShapeBudget();
  const kept: NamedTool[] = [];
  const dropped: string[] = [];
  for (const tool of tools) {
    if (tool.kind === 'function' && tool.custom !== undefined) {
      kept.push({ name: tool.name, node: customNode(tool, context) });
    } else if (tool.kind === 'function') {
      const parameters = objectSchema(tool.parameters, budget);
      const strict = isStrict(tool, parameters, context);
      if (isLoosened(tool.parameters)) dropped.push('tools.schema');
      if (tool.strict === true && !strict) dropped.push(tool.strictAt ?? `${tool.at}.strict`);
      kept.push({ name: tool.name, node: functionNode({ tool, parameters, strict }, context) });
    } else if (tool.provider === 'openai' && isJsonObject(tool.value)) {
      kept.push({ name: undefined, node: tool.value });
    } else {
      refuseUnlessDropped(tool, context);
      dropped.push(tool.at);
    }
  }
  if (isOverBudget(budget)) dropped.push('tools.schema');
  return { tools: kept, dropped };
}

/** A model that is silently denied a search invents the results. */
function refuseUnlessDropped({ at, typeAt = at }: BuiltInTool, { flags }: ToolContext): void {
  if (flags.dropBuiltInTools) return;
  throw notPortable(
    typeAt,
    'This model has no such built-in tool. Leave it out, or declare a function.',
  );
}

function isStrict(
  { strict }: FunctionTool,
  parameters: JsonObject,
  { flags }: ToolContext,
): boolean {
  return strict === true && flags.strictTools && isStrictSchema(parameters);
}

function functionNode(
  {
    tool,
    parameters,
    strict,
  }: { readonly tool: FunctionTool; readonly parameters: JsonObject; readonly strict: boolean },
  { flags, names }: ToolContext,
): JsonNode {
  return {
    type: 'function',
    function: {
      name: names.upstream(tool.name),
      description: tool.description,
      // Mistral and others require a schema even for a function without parameters, and OpenAI
      // requires `properties` in every schema.
      parameters: { properties: {}, ...parameters },
      strict: flags.strictTools ? strict : undefined,
    },
  };
}

/** Chat completions nest what Responses has in the tool and in its format. */
function customNode({ name, description, custom }: FunctionTool, { names }: ToolContext): JsonNode {
  const grammar = grammarOf(custom?.format);
  const { syntax, definition } = grammar ?? {};
  const format =
    grammar === undefined ? custom?.format : { type: 'grammar', grammar: { syntax, definition } };
  return { type: 'custom', custom: { name: names.upstream(name), description, format } };
}

/**
 * If the upstream cannot restrict the choice to several functions, the other functions are left
 * out.
 */
function offeredTools(
  tools: readonly NamedTool[],
  { toolChoice }: ContentRequest,
  { flags }: ToolContext,
): JsonNode {
  const mustFilter =
    toolChoice !== undefined &&
    namesFunctions(toolChoice) &&
    (requiresOneFunction(toolChoice) ? flags.toolChoice !== 'any' : !flags.allowedTools);
  const allowedNames = new Set(toolChoice?.names);
  const offered = mustFilter
    ? tools.filter(({ name }) => name !== undefined && allowedNames.has(name))
    : tools;
  return offered.map(({ node }) => node);
}

function namesFunctions({ mode, names }: ToolChoice): boolean {
  return mode !== 'none' && names.length > 0;
}

function requiresOneFunction({ mode, names }: ToolChoice): boolean {
  return mode === 'required' && names.length === 1;
}

function choicePiece(request: ContentRequest, context: ToolContext): Piece {
  const { flags } = context;
  const choice = request.toolChoice;
  if (choice === undefined) return emptyPiece;
  if (namesFunctions(choice)) refuseUnknownNames(request, choice);
  if (flags.toolChoice === 'auto') {
    return choice.mode === 'required' ? droppedPiece(request.names.toolChoice) : emptyPiece;
  }
  const isOne = requiresOneFunction(choice);
  const accepts = isOne ? flags.toolChoice === 'any' : flags.allowedTools;
  if (!namesFunctions(choice) || !accepts) return membersPiece({ tool_choice: choice.mode });
  const chosen = choice.names.map((name) => namedChoice(name, context));
  if (isOne) return membersPiece({ tool_choice: chosen[0] });
  const allowedTools = { mode: choice.mode, tools: chosen };
  return membersPiece({ tool_choice: { type: 'allowed_tools', allowed_tools: allowedTools } });
}

function namedChoice(name: string, { names, customNames }: ToolContext): JsonNode {
  const named = { name: names.upstream(name) };
  return customNames.has(name)
    ? { type: 'custom', custom: named }
    : { type: 'function', function: named };
}

function refuseUnknownNames({ tools, names }: ContentRequest, choice: ToolChoice): void {
  const declared = new Set(tools.flatMap((tool) => (tool.kind === 'function' ? [tool.name] : [])));
  if (choice.names.every((name) => declared.has(name))) return;
  const message = 'The tool choice names a function that is not declared. Declare it in the tools.';
  throw invalidRequest(message, names.toolChoice);
}

function parallelPiece(request: ContentRequest, { flags }: ToolContext): Piece {
  const { parallelToolCalls } = request;
  if (parallelToolCalls === undefined) return emptyPiece;
  if (flags.parallelToolCalls) return membersPiece({ parallel_tool_calls: parallelToolCalls });
  // Parallel calls are the model's default anyway.
  return parallelToolCalls ? emptyPiece : droppedPiece(request.names.parallelToolCalls);
}
