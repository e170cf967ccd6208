/** Reads `tools` and `toolConfig`: the functions of all entries, and Google's built-in tools. */
import type {
  BuiltInTool,
  ContentRequest,
  FunctionTool,
  Tool,
  ToolChoice,
} from '../../../canonical/request.ts';
import { fromOpenApiSchema } from '../../../canonical/schema/openapi.ts';
import { isJsonObject, items, type JsonObject, type JsonValue } from '../../../json.ts';
import { refuse } from '../../read-members.ts';
import {
  type Drop,
  dropUnknown,
  enumValue,
  field,
  fieldsOf,
  isNonEmpty,
  listField,
  objectField,
  textField,
} from './fields.ts';

const configAt = 'toolConfig.functionCallingConfig';

export function readTools(
  body: JsonValue,
  drop: Drop,
): Pick<ContentRequest, 'tools' | 'toolChoice'> {
  const config = objectField(body, 'toolConfig', '');
  dropUnknown(config, ['functionCallingConfig'], { at: 'toolConfig', drop });
  const calling = objectField(config, 'functionCallingConfig', 'toolConfig');
  dropUnknown(calling, ['mode', 'allowedFunctionNames'], { at: configAt, drop });
  const mode = enumValue(field(calling, 'mode'), 'MODE');
  const tools = listField(body, 'tools', '').flatMap((entry, index) =>
    readEntry(entry, `tools[${index}]`, drop),
  );
  return {
    tools: mode === 'VALIDATED' ? tools.map(withStrict) : tools,
    toolChoice: readChoice(mode, calling, drop),
  };
}

/** VALIDATED enforces the schemas of all functions. */
function withStrict(tool: Tool): Tool {
  return tool.kind === 'function' ? { ...tool, strict: true, strictAt: `${configAt}.mode` } : tool;
}

function readChoice(
  mode: string | undefined,
  calling: JsonObject | undefined,
  drop: Drop,
): ToolChoice | undefined {
  const names = listField(calling, 'allowedFunctionNames', configAt).filter(
    (name) => typeof name === 'string',
  );
  if (mode === 'AUTO' || mode === 'VALIDATED') return { mode: 'auto', names };
  if (mode === 'NONE') return { mode: 'none', names: [] };
  if (mode === 'ANY') return { mode: 'required', names };
  if (mode !== undefined) refuse(`${configAt}.mode`, 'must be AUTO, ANY, NONE or VALIDATED.');
  if (names.length > 0) drop(`${configAt}.allowedFunctionNames`);
  return undefined;
}

function readEntry(entry: JsonValue, at: string, drop: Drop): readonly Tool[] {
  if (!isJsonObject(entry)) return refuse(at, 'must be an object with `functionDeclarations`.');
  return fieldsOf(entry).flatMap(({ name, value }): readonly Tool[] => {
    const path = `${at}.${name}`;
    if (name !== 'functionDeclarations') return builtInTools(name, value, path);
    return listField(entry, name, at).map((one, index) => readFunction(one, path, index, drop));
  });
}

/** An empty object enables a tool; an empty list or false doesn't. */
function builtInTools(name: string, value: JsonValue, at: string): readonly BuiltInTool[] {
  const isOff = value === false || (Array.isArray(value) && items(value).length === 0);
  return isOff ? [] : [{ kind: 'built_in', provider: 'gemini', name, value, at }];
}

function readFunction(value: JsonValue, list: string, index: number, drop: Drop): FunctionTool {
  const at = `${list}[${index}]`;
  const name = textField(value, 'name', at);
  if (name === undefined || name === '') {
    return refuse(`${at}.name`, 'must be the name of a function.');
  }
  const known = ['name', 'description', 'parameters', 'parametersJsonSchema'];
  dropUnknown(value, known, { at, drop });
  return {
    kind: 'function',
    name,
    description: textField(value, 'description', at),
    parameters: readParameters(value, at, drop),
    strict: undefined,
    at,
  };
}

function readParameters(value: JsonValue, at: string, drop: Drop): JsonObject | undefined {
  const schema = objectField(value, 'parametersJsonSchema', at);
  const openApi = objectField(value, 'parameters', at);
  if (isNonEmpty(schema)) {
    if (isNonEmpty(openApi)) drop(`${at}.parameters`);
    return schema;
  }
  return isNonEmpty(openApi) ? fromOpenApiSchema(openApi) : undefined;
}
