/** What the writers of a reply need to know about its Messages request. */
import { type JsonObject, member } from '../../../json.ts';

/**
 * How thinking is shown to the caller. `omitted`: its blocks have a signature but no text. `off`:
 * the caller expects no thinking, and gets only what providers need back after tool calls.
 */
export type ThinkingDisplay = 'shown' | 'omitted' | 'off';

export interface ReplyContext {
  readonly thinking: ThinkingDisplay;
  /** The tools whose input a stream passes on as it arrives, valid or not. */
  readonly eagerTools: ReadonlySet<string>;
}

export function thinkingDisplay(thinking: JsonObject | undefined): ThinkingDisplay {
  const type = member(thinking, 'type') ?? 'disabled';
  if (type === 'disabled') return 'off';
  return member(thinking, 'display') === 'omitted' ? 'omitted' : 'shown';
}
