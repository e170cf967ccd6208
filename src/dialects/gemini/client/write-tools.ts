/** Writes the tools and the tool choice. */

import type { BuiltInTool, FunctionTool } from '../../../canonical/request.ts';
import { newSchemaBudget, type SchemaBudget } from '../../../canonical/schema/flatten.ts';
import { withoutTitles } from '../../../canonical/schema/members.ts';
import { toOpenApiSchema } from '../../../canonical/schema/openapi.ts';
import { invalidRequest } from '../../../errors.ts';
import { member } from '../../../json.ts';
import { notPortable } from '../../not-portable.ts';
import type { Members, WriteContext } from './write-context.ts';

export function writeTools(context: WriteContext): {
  readonly tools: readonly Members[] | undefined;
  readonly toolConfig: Members | undefined;
} {
  const { request, capabilities, drop } = context;
  const functions = request.tools.filter((tool): tool is FunctionTool => tool.kind === 'function');
  const builtIn = builtInTools(context);
  const [builtInTool] = builtIn;
  if (functions.length > 0 && builtInTool !== undefined && !capabilities.builtInWithFunctions) {
    throw notPortable(
      builtInTool.at,
      "This model doesn't support built-in tools together with functions. Send only one of them.",
    );
  }
  if (request.parallelToolCalls === false) drop(request.names.parallelToolCalls);
  const choice = selectTools(context, functions);
  const budget = newSchemaBudget();
  const declarations = choice.functions.map((tool) => declarationOf(context, tool, budget));
  const entries: readonly Members[] = [
    ...(declarations.length === 0 ? [] : [{ functionDeclarations: declarations }]),
    ...builtIn.map((tool): Members => ({ [tool.name]: tool.value })),
  ];
  return { tools: entries.length === 0 ? undefined : entries, toolConfig: choice.toolConfig };
}

function builtInTools({ request, capabilities, drop }: WriteContext): readonly BuiltInTool[] {
  const tools = request.tools.filter((tool): tool is BuiltInTool => tool.kind === 'built_in');
  for (const { provider, at, typeAt = at } of tools) {
    if (provider === 'gemini') continue;
    if (!capabilities.dropBuiltInTools) {
      throw notPortable(
        typeAt,
        'This model has no such built-in tool. Leave it out, or send a function.',
      );
    }
    drop(at);
  }
  return tools.filter(({ provider }) => provider === 'gemini');
}

function declarationOf(context: WriteContext, tool: FunctionTool, budget: SchemaBudget): Members {
  return {
    name: context.names.upstream(tool.name),
    description: tool.description,
    ...parametersOf(context, tool, budget),
  };
}

function parametersOf(
  { capabilities, drop }: WriteContext,
  { parameters }: FunctionTool,
  budget: SchemaBudget,
): Members {
  if (parameters === undefined) return {};
  if (capabilities.structuredOutput === 'schema') {
    // Gemini 2.5 Flash answers MALFORMED_FUNCTION_CALL if a tool's schema has titles
    // (fastmcp#3861).
    const untitled = withoutTitles(parameters);
    if (untitled.changed) drop('tools.schema.title');
    return { parametersJsonSchema: untitled.schema };
  }
  const { schema, changed } = toOpenApiSchema(parameters, budget);
  if (changed) drop('tools.schema');
  // Google refuses function parameters that are an object without properties.
  const isObject = Object.keys(schema).length === 0 || member(schema, 'type') === 'OBJECT';
  const isEmpty = isObject && member(schema, 'properties') === undefined;
  return isEmpty ? {} : { parameters: schema };
}

/** Google refuses allowed names with AUTO; without VALIDATED, other functions are left out. */
function selectTools(
  context: WriteContext,
  functions: readonly FunctionTool[],
): { readonly functions: readonly FunctionTool[]; readonly toolConfig: Members | undefined } {
  const { request, capabilities, names, drop } = context;
  const choice = request.toolChoice;
  if (functions.length === 0) {
    if (choice?.mode === 'required') drop(request.names.toolChoice);
    return { functions, toolConfig: undefined };
  }
  const allowed = choice?.names ?? [];
  const isDeclared = isIn(functions.map(({ name }) => name));
  if (!allowed.every((name) => isDeclared({ name }))) {
    const sentence =
      'The tool choice names a function that is not declared. Declare it in the tools.';
    throw invalidRequest(sentence, request.names.toolChoice);
  }
  const toolConfig = (mode: string, only: readonly string[] = []): Members => ({
    functionCallingConfig: {
      mode,
      allowedFunctionNames: only.length === 0 ? undefined : only.map(names.upstream),
    },
  });
  if (choice?.mode === 'none') return { functions, toolConfig: toolConfig('NONE') };
  if (choice?.mode === 'required') return { functions, toolConfig: toolConfig('ANY', allowed) };
  if (capabilities.strictTools && (allowed.length > 0 || functions.some(isStrict))) {
    return { functions, toolConfig: toolConfig('VALIDATED', allowed) };
  }
  for (const tool of functions.filter(isStrict)) drop(tool.strictAt ?? `${tool.at}.strict`);
  const remaining = allowed.length === 0 ? functions : functions.filter(isIn(allowed));
  return {
    functions: remaining,
    toolConfig: choice === undefined ? undefined : toolConfig('AUTO'),
  };
}

function isStrict({ strict }: FunctionTool): boolean {
  return strict === true;
}

function isIn(names: readonly string[]): (tool: Pick<FunctionTool, 'name'>) => boolean {
  const known = new Set(names);
  return ({ name }) => known.has(name);
}
