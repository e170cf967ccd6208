/**
 * Moves tool results to where strict upstreams require them: directly after the turn with the
 * calls, complete, and in the order of the calls.
 */
import type { Part, TextPart, ToolCallPart, ToolResultPart, Turn } from './request.ts';

export interface PairedTurns {
  readonly turns: readonly Turn[];
  /**
   * The paths of results that match no call, which became text, and of results that a later one
   * replaced.
   */
  readonly dropped: readonly string[];
}

/**
 * Pairs results with their calls as {@link pairResults} does. Consecutive turns of one role are
 * merged, because Google's SDKs keep every event of a stream as a separate turn, and parallel calls
 * must not become sequential steps.
 */
export function pairedTurns(sent: readonly Turn[]): PairedTurns {
  return pairResults(joinedTurns(sent));
}

/**
 * After every assistant turn with tool calls comes one user turn with exactly the results of these
 * calls, in call order. If a call has several results, the last one counts; a call without a result
 * gets an error as its result; a result without a call becomes text. All other parts and turns stay
 * unchanged.
 */
export function pairResults(turns: readonly Turn[]): PairedTurns {
  const matched = matchResults(turns);
  const used = new Set<Part>();
  const paired = turns.flatMap((turn, index): readonly Turn[] => {
    const remaining = withoutMatched(turn, matched.matched);
    const calls = callsIn(turn);
    if (calls.length === 0) return remaining;
    const parts = resultsOf(calls, matched.byTurn[index] ?? new Map(), used);
    return [...remaining, { role: 'user', parts }];
  });
  const results = turns.flatMap(({ parts }) => parts.filter(isResult));
  return { turns: paired, dropped: results.filter((one) => !used.has(one)).map(({ at }) => at) };
}

/** The runs of consecutive turns of the same role. System turns stay alone. */
export function runsOf(turns: readonly Turn[]): readonly (readonly Turn[])[] {
  const runs: Turn[][] = [];
  for (const turn of turns) {
    const last = runs.at(-1);
    if (turn.role !== 'system' && last?.[0]?.role === turn.role) last.push(turn);
    else runs.push([turn]);
  }
  return runs;
}

export function joinedTurns(turns: readonly Turn[]): readonly Turn[] {
  return runsOf(turns).flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    if (others.length === 0) return [first];
    return [{ role: first.role, parts: [first, ...others].flatMap(({ parts }) => parts) }];
  });
}

export function resultText(content: ToolResultPart['content']): string {
  return content.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

type ResultsById = Map<string, ToolResultPart[]>;

/**
 * Assigns each result to the latest earlier turn with a call of its id, since some providers reuse
 * ids.
 */
function matchResults(turns: readonly Turn[]): {
  readonly byTurn: readonly ResultsById[];
  readonly matched: ReadonlySet<Part>;
} {
  const owners = new Map<string, ResultsById>();
  const matched = new Set<Part>();
  const byTurn = turns.map((turn) => {
    const own: ResultsById = new Map();
    for (const { id } of callsIn(turn)) owners.set(id, own);
    for (const part of turn.parts.filter(isResult)) {
      const owner = owners.get(part.callId);
      if (owner === undefined) continue;
      const known = owner.get(part.callId);
      if (known === undefined) owner.set(part.callId, [part]);
      else known.push(part);
      matched.add(part);
    }
    return own;
  });
  return { byTurn, matched };
}

/**
 * The results in call order. Calls of one turn that share an id take their results in order. Adds
 * each result to `used`.
 */
function resultsOf(
  calls: readonly ToolCallPart[],
  results: ResultsById,
  used: Set<Part>,
): readonly ToolResultPart[] {
  const waiting = new Map<string, number>();
  for (const { id } of calls) waiting.set(id, (waiting.get(id) ?? 0) + 1);
  const last = new Map(
    [...waiting].map(([id, count]) => [id, results.get(id)?.slice(-count).values()]),
  );
  return calls.map((call) => {
    const found = last.get(call.id)?.next().value;
    if (found === undefined) return missingResult(call);
    used.add(found);
    return { ...found, name: call.name };
  });
}

function missingResult({ id, name, at }: ToolCallPart): ToolResultPart {
  const content = [{ kind: 'text', text: 'no result', at }] as const;
  return { kind: 'tool_result', callId: id, name, content, isError: true, at };
}

function withoutMatched(turn: Turn, matched: ReadonlySet<Part>): readonly Turn[] {
  if (!turn.parts.some(isResult)) return [turn];
  const parts = turn.parts
    .filter((part) => !matched.has(part))
    .flatMap((part) => (isResult(part) ? asText(part) : [part]));
  return parts.length === 0 ? [] : [{ role: turn.role, parts }];
}

function asText({ name, content, at }: ToolResultPart): readonly Part[] {
  const text = `[tool result ${name ?? 'unknown'}]: ${resultText(content)}`;
  const textOnly: TextPart = { kind: 'text', text, at };
  return [textOnly, ...content.filter(({ kind }) => kind === 'media')];
}

function callsIn({ role, parts }: Turn): readonly ToolCallPart[] {
  return role === 'assistant' ? parts.filter((part) => part.kind === 'tool_call') : [];
}

function isResult(part: Part): part is ToolResultPart {
  return part.kind === 'tool_result';
}
