/**
 * Reads the tools of a chat request: functions, custom tools, the older `functions`, and the tool
 * choice.
 */
import type { BuiltInTool, FunctionTool, Tool, ToolChoice } from '../../../canonical/request.ts';
import { type JsonObject, type JsonValue, member } from '../../../json.ts';
import {
  choiceMode,
  flagIn,
  type ObjectAtPath,
  objectIn,
  objectsIn,
  presentMember,
  refuse,
  requiredObject,
  requiredText,
  textIn,
} from '../../read-members.ts';
import { cacheControlOf } from './read-parts.ts';

export function readTools(body: JsonObject): readonly Tool[] {
  return [
    ...objectsIn(body, 'tools', '').map(readTool),
    ...objectsIn(body, 'functions', '').map(readFunction),
  ];
}

export function readToolChoice(body: JsonObject): ToolChoice | undefined {
  const choice = presentMember(body, 'tool_choice');
  if (choice !== undefined) return readChoice(choice);
  const call = presentMember(body, 'function_call');
  if (call === undefined) return undefined;
  const mode = choiceMode(call);
  if (mode === 'auto' || mode === 'none') return { mode, names: [] };
  const name = member(call, 'name');
  return typeof name === 'string'
    ? { mode: 'required', names: [name] }
    : refuse('function_call', 'must be "none", "auto" or an object with the `name` of a function.');
}

function readTool(located: ObjectAtPath): Tool {
  const { value: tool, at } = located;
  const type = textIn(tool, 'type', at);
  if (
    type === 'function' ||
    (type === undefined && presentMember(tool, 'function') !== undefined)
  ) {
    const declared = requiredObject(tool, 'function', at);
    const cacheControl = cacheControlOf(tool) ?? cacheControlOf(declared);
    return { ...readFunction({ value: declared, at: `${at}.function` }), at, cacheControl };
  }
  if (type === undefined) return refuse(at, 'must be a function: send `type` and `function`.');
  return readBuiltInTool(located, type);
}

function readFunction({ value: declared, at }: ObjectAtPath): FunctionTool {
  return {
    kind: 'function',
    name: requiredText(declared, 'name', at),
    description: textIn(declared, 'description', at),
    parameters: objectIn(declared, 'parameters', at),
    strict: flagIn(declared, 'strict', at),
    strictAt: `${at}.strict`,
    at,
    cacheControl: cacheControlOf(declared),
  };
}

/** Reads OpenAI's custom tools and the tools that its servers run. */
function readBuiltInTool({ value: tool, at }: ObjectAtPath, type: string): BuiltInTool {
  const value = type === 'custom' ? requiredObject(tool, 'custom', at) : tool;
  return { kind: 'built_in', provider: 'openai', name: type, value, at };
}

function readChoice(choice: JsonValue): ToolChoice {
  const mode = choiceMode(choice);
  if (mode !== undefined) return { mode, names: [] };
  const type = member(choice, 'type');
  if (type === 'function' || type === 'custom') {
    return { mode: 'required', names: [nameOf(choice, 'tool_choice')] };
  }
  if (type === 'allowed_tools') return readAllowed(member(choice, 'allowed_tools'));
  return refuse(
    'tool_choice',
    'must be "none", "auto", "required", or an object that names a function or allowed tools.',
  );
}

function readAllowed(allowed: JsonValue | undefined): ToolChoice {
  const at = 'tool_choice.allowed_tools';
  const mode = choiceMode(member(allowed, 'mode'));
  if (mode !== 'auto' && mode !== 'required') {
    return refuse(`${at}.mode`, 'must be "auto" or "required".');
  }
  const tools = objectsIn({ tools: member(allowed, 'tools') ?? null }, 'tools', at);
  if (tools.length === 0) return refuse(`${at}.tools`, 'must name at least one tool.');
  return { mode, names: tools.map((tool) => nameOf(tool.value, tool.at)) };
}

function nameOf(choice: JsonValue, at: string): string {
  const type = member(choice, 'type') === 'custom' ? 'custom' : 'function';
  const name = member(member(choice, type), 'name');
  return typeof name === 'string' && name !== '' ? name : refuse(at, `must name a ${type} tool.`);
}
