/**
 * Collects the items of a conversation into turns. An assistant turn is the longest run of what the
 * model said: its messages, reasoning and calls. Parallel calls are thus one turn, as models made
 * them.
 */
import type {
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from '../../../../canonical/request.ts';
import { type TurnEntry, withSignatures } from '../../../../canonical/signature-marks.ts';
import { pairResults } from '../../../../canonical/tool-results.ts';

export interface BuiltTurns {
  /** The instructions at the beginning. */
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
  readonly dropped: readonly string[];
}

export class TurnBuilder {
  readonly #system: TextPart[];
  readonly #turns: Turn[] = [];
  readonly #dropped: string[] = [];
  /** The assistant turn that may continue. */
  #entries: TurnEntry[] | undefined;
  /** The results at the end of the last turn. */
  #results: ToolResultPart[] | undefined;
  /** Calls whose results are still to come. */
  readonly #awaited = new Set<string>();
  /** Instructions that wait for these results. */
  #waiting: Turn[] = [];

  constructor(instructions: readonly TextPart[]) {
    this.#system = [...instructions];
  }

  addUser(parts: Turn['parts']): void {
    this.#closeTurn();
    this.#turns.push({ role: 'user', parts });
  }

  addAssistant(entries: readonly TurnEntry[]): void {
    for (const entry of entries) this.#addEntry(entry);
  }

  /** @param hasResult whether the result of the call comes later in the input */
  addCall(call: ToolCallPart, hasResult: boolean): void {
    this.#addEntry(call);
    if (hasResult) this.#awaited.add(call.id);
  }

  end(): BuiltTurns {
    this.#closeTurn();
    const { turns, dropped } = pairResults(this.#turns);
    return { system: this.#system, turns, dropped: [...this.#dropped, ...dropped] };
  }

  addInstruction(parts: readonly TextPart[]): void {
    if (this.#turns.length === 0 && this.#entries === undefined) {
      for (const part of parts) this.#system.push(part);
      return;
    }
    const turn: Turn = { role: 'system', parts };
    // Providers require results directly after their calls, and Codex instructs between them.
    if (this.#awaited.size > 0) {
      this.#waiting.push(turn);
      return;
    }
    this.#closeTurn();
    this.#turns.push(turn);
  }

  #addEntry(entry: TurnEntry): void {
    if (this.#results !== undefined) this.#closeTurn();
    this.#entries ??= [];
    this.#entries.push(entry);
  }

  addResult(result: ToolResultPart): void {
    this.#closeAssistant();
    if (this.#results === undefined) {
      this.#results = [];
      this.#turns.push({ role: 'user', parts: this.#results });
    }
    this.#results.push(result);
    this.#awaited.delete(result.callId);
    if (this.#awaited.size === 0 && this.#waiting.length > 0) this.#closeTurn();
  }

  #closeTurn(): void {
    this.#closeAssistant();
    this.#results = undefined;
    for (const turn of this.#waiting) this.#turns.push(turn);
    this.#waiting = [];
  }

  #closeAssistant(): void {
    if (this.#entries === undefined) return;
    const { parts, dropped } = withSignatures(this.#entries);
    this.#entries = undefined;
    if (parts.length > 0) this.#turns.push({ role: 'assistant', parts });
    for (const at of dropped) this.#dropped.push(at);
  }
}
