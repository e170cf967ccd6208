/**
 * Decides whether a call can do without a tool that its client declares by default, and takes such
 * tools out of relayed calls. Codex, for one, declares a web search in every request.
 */
import { originalLength } from '../bytes/body/body.ts';
import { editElements } from '../bytes/json/edit-elements.ts';
import { findMember, kindAt, valueAt } from '../bytes/json/read/members.ts';
import { skipValue } from '../bytes/json/read/skip.ts';
import type { Call, GuardedUse } from '../call.ts';
import { eachElement } from '../dialects/prompt-size.ts';
import { items, type JsonValue, member } from '../json.ts';
import type { Model } from '../ports/catalog.ts';
import type { Protocol } from '../protocols/protocol.ts';
import type { RelayEdits } from './reference-edits.ts';

/** The rules of a protocol for the tools that clients declare by default, and their bounds. */
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
  return numberOfTools(call) > optional.length;
}

/** True for an element of `tools` that clients declare by default. */
export function isOptional(use: GuardedUse, { optionalTools }: ToolRules): boolean {
  const isDefault = optionalTools?.some((row) => row === use.row) === true;
  return isDefault && toolIndex(use) !== undefined;
}

/** The place of a tool in `tools`; undefined if it is declared elsewhere. */
function toolIndex({ at }: GuardedUse): number | undefined {
  const [, index] = /^tools\[(\d+)\]\.type$/.exec(at) ?? [];
  return index === undefined ? undefined : Number(index);
}

function numberOfTools({ body: { text }, members }: Call): number {
  const tools = findMember(members, 'tools');
  let count = 0;
  if (tools === undefined || kindAt(text, tools.value) !== 'array') return count;
  eachElement(text, tools.value.start, (start) => {
    count += 1;
    return skipValue(text, start);
  });
  return count;
}

/** A longer choice lists many tools, which may be of any type. */
const maxChoiceBytes = 16_384;
const ownTypes: ReadonlySet<JsonValue | undefined> = new Set(['function', 'custom']);

function choosesProviderTool({ body, members }: Call): boolean {
  const choice = findMember(members, 'tool_choice');
  if (choice === undefined || kindAt(body.text, choice.value) !== 'object') return false;
  const { start, end } = choice.value;
  if (originalLength(body, start, end) > maxChoiceBytes) return true;
  const chosen = valueAt(body.text, choice.value);
  const type = member(chosen, 'type');
  if (type !== 'allowed_tools') return !ownTypes.has(type);
  return items(member(chosen, 'tools')).some((tool) => !ownTypes.has(member(tool, 'type')));
}

/** The edits that take these elements out of `tools`. */
export function withoutTools({ body, members }: Call, uses: readonly GuardedUse[]): RelayEdits {
  const tools = findMember(members, 'tools');
  if (tools === undefined) return { edits: [], changed: [] };
  const indices = uses.map(toolIndex).filter((index) => index !== undefined);
  const removed = new Map(indices.map((index) => [index, undefined] as const));
  return {
    edits: [{ name: 'tools', value: editElements(body, tools.value, removed) }],
    changed: indices.map((index) => `tools[${index}]`),
  };
}
