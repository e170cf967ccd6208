/** Reads `tool_choice`: a mode, one tool, or the tools that are allowed. */
import type { ToolChoice } from '../../../canonical/request.ts';
import { GatewayError } from '../../../errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../json.ts';
import {
  type ObjectAtPath,
  objectsIn,
  presentMember,
  refuse,
  requiredText,
  textIn,
} from '../../read-members.ts';
import type { ToolNames } from './tool-names.ts';

/**
 * Reads the choice.
 *
 * @throws GatewayError `not_portable` if it requires a tool that only OpenAI runs
 */
export function readToolChoice(
  body: JsonObject,
  names: ToolNames,
  drop: (at: string) => void,
): ToolChoice | undefined {
  const choice = presentMember(body, 'tool_choice');
  if (choice === undefined) return undefined;
  const mode = modeOf(choice);
  if (mode !== undefined) return { mode, names: [] };
  if (!isJsonObject(choice)) return refuseChoice();
  const located = { value: choice, at: 'tool_choice' };
  if (textIn(choice, 'type', 'tool_choice') === 'allowed_tools') {
    return readAllowed(choice, names, drop);
  }
  const name = flatNameOf(located, names);
  if (name !== undefined) return { mode: 'required', names: [name] };
  throw new GatewayError(
    'not_portable',
    'This model has no such built-in tool. Choose a function, or leave the choice to the model.',
    { param: 'tool_choice' },
  );
}

/** Only tools that the caller runs can be allowed; others are left out. */
function readAllowed(choice: JsonObject, names: ToolNames, drop: (at: string) => void): ToolChoice {
  const mode = modeOf(presentMember(choice, 'mode'));
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
  throw new GatewayError(
    'not_portable',
    'This model has none of the allowed tools. Allow a function or a custom tool.',
    { param: 'tool_choice.tools' },
  );
}

/** The name of a function or custom tool in the common form; undefined for other tools. */
function flatNameOf({ value: tool, at }: ObjectAtPath, names: ToolNames): string | undefined {
  const type = requiredText(tool, 'type', at);
  if (type !== 'function' && type !== 'custom') return undefined;
  const name = requiredText(tool, 'name', at);
  return names.flat({ namespace: textIn(tool, 'namespace', at), name });
}

function modeOf(choice: JsonValue | undefined): ToolChoice['mode'] | undefined {
  return choice === 'auto' || choice === 'none' || choice === 'required' ? choice : undefined;
}

function refuseChoice(): never {
  return refuse(
    'tool_choice',
    'must be "none", "auto", "required", or an object that names a tool or allowed tools.',
  );
}
