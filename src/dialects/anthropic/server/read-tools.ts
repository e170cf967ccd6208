/**
 * Reads `tools` and `tool_choice`. Tools that the caller declares with a schema are functions;
 * those that Anthropic defines, whether it runs them or the caller does, are built in.
 */
import type {
  BuiltInTool,
  ContentRequest,
  FunctionTool,
  Tool,
  ToolChoice,
} from '../../../canonical/request.ts';
import { items, type JsonObject, member } from '../../../json.ts';
import {
  flagIn,
  type ObjectAtPath,
  objectIn,
  objectsIn,
  refuse,
  requiredObject,
  requiredText,
  textIn,
} from '../../read-members.ts';

export function readTools(
  body: JsonObject,
  drop: (at: string) => void,
): Pick<ContentRequest, 'tools' | 'toolChoice' | 'parallelToolCalls'> {
  const declared = objectsIn(body, 'tools', '').map((tool) => readTool(tool, drop));
  const searches = declared.filter(isToolSearch);
  for (const { at } of searches) drop(at);
  const tools = declared.filter((tool) => !isToolSearch(tool));
  const choice = objectIn(body, 'tool_choice', '');
  const toolChoice = choice === undefined ? undefined : readChoice(choice, declared, drop);
  const isOneByOne =
    choice !== undefined && flagIn(choice, 'disable_parallel_tool_use', 'tool_choice') === true;
  const hasFunctions = tools.some(({ kind }) => kind === 'function');
  return {
    tools,
    // Clients send a choice without tools too, where it has no effect.
    toolChoice: hasFunctions || toolChoice?.mode === 'required' ? toolChoice : undefined,
    parallelToolCalls: isOneByOne ? false : undefined,
  };
}

/** Anthropic validates all other input before sending it, so callers expect valid JSON there. */
export function eagerTools(body: JsonObject): ReadonlySet<string> {
  const eager = objectsIn(body, 'tools', '').filter(
    ({ value, at }) => flagIn(value, 'eager_input_streaming', at) === true,
  );
  return new Set(eager.map(({ value, at }) => requiredText(value, 'name', at)));
}

function readTool(located: ObjectAtPath, drop: (at: string) => void): Tool {
  const { value: tool, at } = located;
  const type = textIn(tool, 'type', at) ?? 'custom';
  if (type !== 'custom')
    return { kind: 'built_in', provider: 'anthropic', name: type, value: tool, at };
  const callers = items(member(tool, 'allowed_callers'));
  if (callers.some((caller) => caller !== 'direct')) drop('tools.allowed_callers');
  if (flagIn(tool, 'defer_loading', at) === true) drop('tools.defer_loading');
  return readFunction(located);
}

function readFunction({ value: tool, at }: ObjectAtPath): FunctionTool {
  return {
    kind: 'function',
    name: requiredText(tool, 'name', at),
    description: textIn(tool, 'description', at),
    parameters: requiredObject(tool, 'input_schema', at),
    strict: flagIn(tool, 'strict', at),
    at,
  };
}

/** Elsewhere models see all tools, so that a search over tools is not needed. */
function isToolSearch(tool: Tool): tool is BuiltInTool {
  return tool.kind === 'built_in' && tool.name.startsWith('tool_search_tool_');
}

function readChoice(
  choice: JsonObject,
  tools: readonly Tool[],
  drop: (at: string) => void,
): ToolChoice | undefined {
  switch (textIn(choice, 'type', 'tool_choice')) {
    case 'auto':
      return { mode: 'auto', names: [] };
    case 'any':
      return { mode: 'required', names: [] };
    case 'none':
      return { mode: 'none', names: [] };
    case 'tool':
      return readNamedChoice(choice, tools, drop);
    default:
      return refuse('tool_choice.type', 'must be "auto", "any", "tool" or "none".');
  }
}

/** Where a built-in tool is left out, so is the choice of it: no upstream knows its name. */
function readNamedChoice(
  choice: JsonObject,
  tools: readonly Tool[],
  drop: (at: string) => void,
): ToolChoice | undefined {
  const name = requiredText(choice, 'name', 'tool_choice');
  if (tools.some((tool) => tool.kind === 'function' && tool.name === name)) {
    return { mode: 'required', names: [name] };
  }
  if (!tools.some((tool) => tool.kind === 'built_in' && member(tool.value, 'name') === name)) {
    refuse('tool_choice.name', 'names a tool that is not declared. Declare it in `tools`.');
  }
  drop('tool_choice');
  return undefined;
}
