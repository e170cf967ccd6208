/**
 * Collects the items of a conversation into turns. An assistant turn is the longest run of what the
 * model said: its messages, reasoning and calls. Parallel calls are thus one turn, as models made
 * them.
 */
import type { TextPart, ToolResultPart, Turn } from '../../../../canonical/request.ts';
import { type TurnEntry, withSignatures } from '../../../../canonical/signature-marks.ts';
import { pairResults } from '../../../../canonical/tool-results.ts';

export interface TurnBuilder {
  addInstruction(parts: readonly TextPart[]): void;
  addUser(parts: Turn['parts']): void;
  addAssistant(entries: readonly TurnEntry[]): void;
  /** @param hasResult whether the result of the call comes later in the input */
  addCall(call: TurnEntry & { readonly kind: 'tool_call' }, hasResult: boolean): void;
  addResult(result: ToolResultPart): void;
  end(): BuiltTurns;
}

export interface BuiltTurns {
  /** The instructions at the beginning. */
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
  readonly dropped: readonly string[];
}

interface BuildState {
  readonly system: TextPart[];
  readonly turns: Turn[];
  readonly dropped: string[];
  /** The assistant turn that may continue. */
  entries: TurnEntry[] | undefined;
  /** The results at the end of the last turn. */
  results: ToolResultPart[] | undefined;
  /** Calls whose results are still to come. */
  readonly awaited: Set<string>;
  /** Instructions that wait for these results. */
  waiting: Turn[];
}

export function turnBuilder(instructions: readonly TextPart[]): TurnBuilder {
  const state: BuildState = {
    system: [...instructions],
    turns: [],
    dropped: [],
    entries: undefined,
    results: undefined,
    awaited: new Set(),
    waiting: [],
  };
  return {
    addInstruction: (parts) => addInstruction(state, parts),
    addUser: (parts) => {
      closeTurn(state);
      state.turns.push({ role: 'user', parts });
    },
    addAssistant: (entries) => {
      for (const entry of entries) addEntry(state, entry);
    },
    addCall: (call, hasResult) => {
      addEntry(state, call);
      if (hasResult) state.awaited.add(call.id);
    },
    addResult: (result) => addResult(state, result),
    end: () => {
      closeTurn(state);
      const { system, turns, dropped } = state;
      const paired = pairResults(turns);
      return { system, turns: paired.turns, dropped: [...dropped, ...paired.dropped] };
    },
  };
}

function addInstruction(state: BuildState, parts: readonly TextPart[]): void {
  if (state.turns.length === 0 && state.entries === undefined) {
    for (const part of parts) state.system.push(part);
    return;
  }
  const turn: Turn = { role: 'system', parts };
  // Providers require results directly after their calls, and Codex instructs between them.
  if (state.awaited.size > 0) {
    state.waiting.push(turn);
    return;
  }
  closeTurn(state);
  state.turns.push(turn);
}

function addEntry(state: BuildState, entry: TurnEntry): void {
  if (state.results !== undefined) closeTurn(state);
  state.entries ??= [];
  state.entries.push(entry);
}

function addResult(state: BuildState, result: ToolResultPart): void {
  closeAssistant(state);
  if (state.results === undefined) {
    state.results = [];
    state.turns.push({ role: 'user', parts: state.results });
  }
  state.results.push(result);
  state.awaited.delete(result.callId);
  if (state.awaited.size === 0 && state.waiting.length > 0) closeTurn(state);
}

function closeTurn(state: BuildState): void {
  closeAssistant(state);
  state.results = undefined;
  for (const turn of state.waiting) state.turns.push(turn);
  state.waiting = [];
}

function closeAssistant(state: BuildState): void {
  if (state.entries === undefined) return;
  const { parts, dropped } = withSignatures(state.entries);
  state.entries = undefined;
  if (parts.length > 0) state.turns.push({ role: 'assistant', parts });
  for (const at of dropped) state.dropped.push(at);
}
