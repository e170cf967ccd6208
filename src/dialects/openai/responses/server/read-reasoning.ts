/** Reads how much the model should reason, and whether the caller wants to see it. */
import type { Reasoning } from '../../../../canonical/request.ts';
import { type JsonObject, type JsonValue, member } from '../../../../json.ts';
import { type ReasoningEffort, reasoningEfforts } from '../../../../ports/catalog.ts';
import { type ObjectAtPath, objectIn, presentMember, refuse } from '../../../read-members.ts';

/** Reads `reasoning`. The effort may be replaced by an item of the input. */
export function readReasoning(
  body: JsonObject,
  input: readonly ObjectAtPath[],
  drop: (at: string) => void,
): {
  readonly reasoning: Reasoning | undefined;
  readonly wantsSummary: boolean;
  readonly name: string;
} {
  const sent = objectIn(body, 'reasoning', '') ?? {};
  // How the model reasons without these members; other values are lost.
  dropUnless(sent, 'context', ['auto', 'current_turn'], drop);
  dropUnless(sent, 'mode', ['standard'], drop);
  const wantsSummary =
    presentMember(sent, 'summary') !== undefined ||
    presentMember(sent, 'generate_summary') !== undefined;
  const last = lastEffort(body, input);
  const name = last?.at ?? (wantsSummary ? 'reasoning.summary' : 'reasoning.effort');
  if (last === undefined && !wantsSummary) return { reasoning: undefined, wantsSummary, name };
  const effort = last === undefined ? undefined : effortOf(last.value, last.at);
  const reasoning = { effort, budgetTokens: undefined, includeThoughts: wantsSummary };
  return { reasoning, wantsSummary, name };
}

function dropUnless(
  sent: JsonObject,
  name: string,
  neutral: readonly string[],
  drop: (at: string) => void,
): void {
  const value = presentMember(sent, name);
  if (value === undefined || neutral.some((known) => known === value)) return;
  drop(`reasoning.${name}`);
}

function lastEffort(
  body: JsonObject,
  input: readonly ObjectAtPath[],
): { readonly value: JsonValue; readonly at: string } | undefined {
  const updates = input
    .filter(({ value }) => member(value, 'type') === 'configuration_update')
    .toReversed();
  for (const { value, at } of [...updates, { value: body, at: '' }]) {
    const path = at === '' ? 'reasoning' : `${at}.reasoning`;
    const effort = presentMember(objectIn(value, 'reasoning', at), 'effort');
    if (effort !== undefined) return { value: effort, at: `${path}.effort` };
  }
  return undefined;
}

function effortOf(value: JsonValue, at: string): ReasoningEffort {
  return (
    reasoningEfforts.find((known) => known === value) ??
    refuse(at, `must be one of ${reasoningEfforts.join(', ')}.`)
  );
}
