/** The tools, choices and cache markers that Anthropic refuses. */
import { isJsonObject, items, type JsonValue, member } from '../../src/json.ts';

/** The message with which Anthropic refuses the tools of a request, or undefined. */
export function refusedTools(body: JsonValue | undefined): string | undefined {
  const tools = items(member(body, 'tools'));
  return wrongTool(tools) ?? wrongChoice(body, tools) ?? wrongMarkers(body);
}

function wrongTool(tools: readonly JsonValue[]): string | undefined {
  const names = new Set<JsonValue | undefined>();
  for (const [index, tool] of tools.entries()) {
    const name = member(tool, 'name');
    if (names.has(name)) return 'tools: Tool names must be unique.';
    names.add(name);
    const isCustom = (member(tool, 'type') ?? 'custom') === 'custom';
    const at = `tools.${index}.custom`;
    if (isCustom && !/^[a-zA-Z0-9_-]{1,128}$/.test(String(name))) {
      return `${at}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`;
    }
    const schema = member(tool, 'input_schema');
    if (isCustom && schema === undefined) return `${at}.input_schema: Field required`;
    if (isCustom && member(schema, 'type') !== 'object') {
      return `${at}.input_schema.type: Input should be 'object'`;
    }
  }
  return undefined;
}

function wrongChoice(body: JsonValue | undefined, tools: readonly JsonValue[]): string | undefined {
  const choice = member(body, 'tool_choice');
  const type = member(choice, 'type');
  if (type === undefined) return undefined;
  if (tools.length === 0 && type !== 'none') {
    return 'tool_choice may only be specified while providing tools';
  }
  const name = member(choice, 'name');
  if (type === 'tool' && !tools.some((tool) => member(tool, 'name') === name)) {
    return `Tool '${String(name)}' not found in provided tools`;
  }
  const thinks = ['enabled', 'adaptive'].includes(String(member(member(body, 'thinking'), 'type')));
  return thinks && (type === 'any' || type === 'tool')
    ? 'Thinking may not be enabled when tool_choice forces tool use.'
    : undefined;
}

function wrongMarkers(body: JsonValue | undefined): string | undefined {
  const count = sumOf(['tools', 'system', 'messages'].map((name) => markersIn(member(body, name))));
  return count > 4
    ? `A maximum of 4 blocks with cache_control may be provided. Found ${count}.`
    : undefined;
}

function markersIn(value: JsonValue | undefined): number {
  if (Array.isArray(value)) return sumOf(items(value).map(markersIn));
  if (!isJsonObject(value)) return 0;
  return sumOf(
    Object.entries(value).map(([name, inner]) => {
      // Arguments and schemas of the caller may have a member of that name, which is no marker.
      if (name === 'input' || name === 'input_schema') return 0;
      return name === 'cache_control' && isJsonObject(inner) ? 1 : markersIn(inner);
    }),
  );
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
