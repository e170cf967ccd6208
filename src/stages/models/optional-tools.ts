/**
 * Decides whether a call can do without a tool that its client declares by default, and takes such
 * tools out of relayed calls. Codex, for one, declares a web search in every request.
 */
import { editElements } from '../../bytes/json/edit-elements.ts';
import { parsedValue } from '../../bytes/json/scan/body.ts';
import { none, root } from '../../bytes/json/tape.ts';
import type { Call, GuardedUse } from '../../call.ts';
import { items, type JsonValue, member } from '../../json.ts';
import type { Model } from '../../ports/models/catalog.ts';
import type { Protocol } from '../../protocols/protocol.ts';
import type { RelayEdits } from '../references/reference-edits.ts';

export type ToolRules = Pick<Protocol, 'optionalTools' | 'toolBound'>;

/**
 * True if the tool may be left out: clients declare it by default, there are other tools, and the
 * tool choice names no tool of a provider. A strict model leaves nothing out.
 */
export function canBeLeftOut(
  use: GuardedUse,
  call: Call,
  { strict }: Model,
  rules: ToolRules,
): boolean {
  if (strict === true || !isOptional(use, rules) || choosesProviderTool(call)) return false;
  const optional = call.demand.guarded.filter((one) => isOptional(one, rules));
  const { tape } = call;
  return tape.elements(tape.get(root, 'tools')).length > optional.length;
}

export function isOptional(use: GuardedUse, { optionalTools }: ToolRules): boolean {
  const isDefault = optionalTools?.some((row) => row === use.row) === true;
  return isDefault && toolIndex(use) !== undefined;
}

function toolIndex({ at }: GuardedUse): number | undefined {
  const [, index] = /^tools\[(\d+)\]\.type$/.exec(at) ?? [];
  return index === undefined ? undefined : Number(index);
}

/** A longer choice lists many tools, which may be of any type. */
const maxChoiceBytes = 16_384;
const ownTypes: ReadonlySet<JsonValue | undefined> = new Set(['function', 'custom']);

function choosesProviderTool({ tape }: Call): boolean {
  const choice = tape.get(root, 'tool_choice');
  if (choice === none || !tape.isObject(choice)) return false;
  if (tape.length(choice) > maxChoiceBytes) return true;
  const chosen = parsedValue(tape, choice);
  const type = member(chosen, 'type');
  if (type !== 'allowed_tools') return !ownTypes.has(type);
  return items(member(chosen, 'tools')).some((tool) => !ownTypes.has(member(tool, 'type')));
}

export function withoutTools({ tape }: Call, uses: readonly GuardedUse[]): RelayEdits {
  const tools = tape.get(root, 'tools');
  if (tools === none) return { edits: [], changed: [] };
  const indices = uses.map(toolIndex).filter((index) => index !== undefined);
  const removed = new Map(indices.map((index) => [index, undefined] as const));
  return {
    edits: [{ name: 'tools', value: editElements(tape, tools, removed) }],
    changed: indices.map((index) => `tools[${index}]`),
  };
}
