/**
 * Puts the results of tools where strict upstreams want them: directly behind the turn that called,
 * all of them, in the order of the calls (TRANSLATION §6.5).
 */
import type { Part, TextPart, ToolCallPart, ToolResultPart, Turn } from './request.ts';

/** Turns in which every call has its result. */
export interface PairedTurns {
  readonly turns: readonly Turn[];
  /** Where results stood that answer no call, and are text now, or that a later one replaced. */
  readonly dropped: readonly string[];
}

/**
 * Directly behind every assistant's turn with calls stands one user turn of exactly its results, in
 * call order. Of two results of one call the last counts, a call without one gets an error, and a
 * result without a call becomes text. Everything else stays as it came.
 *
 * Turns of one role that follow one another are one turn: Google's SDKs keep every event of a
 * stream as a turn of its own, and calls that were made together must not become several steps.
 */
export function pairedTurns(sent: readonly Turn[]): PairedTurns {
  const turns = joinedTurns(sent);
  const answers = answersIn(turns);
  const used = new Set<Part>();
  const paired = turns.flatMap((turn, index): readonly Turn[] => {
    const left = withoutAnswers(turn, answers.answering);
    const calls = callsIn(turn);
    if (calls.length === 0) return left;
    const parts = resultsOf(calls, answers.byTurn[index] ?? new Map(), used);
    return [...left, { role: 'user', parts }];
  });
  const results = turns.flatMap(({ parts }) => parts.filter(isResult));
  return { turns: paired, dropped: results.filter((one) => !used.has(one)).map(({ at }) => at) };
}

/** One turn for each run of turns of one role; instructions stay apart. */
export function joinedTurns(turns: readonly Turn[]): readonly Turn[] {
  const runs: Turn[][] = [];
  for (const turn of turns) {
    const last = runs.at(-1);
    if (turn.role !== 'system' && last?.[0]?.role === turn.role) last.push(turn);
    else runs.push([turn]);
  }
  return runs.flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    if (others.length === 0) return [first];
    return [{ role: first.role, parts: [first, ...others].flatMap(({ parts }) => parts) }];
  });
}

/** The text of a result; its pieces as they are, without a separator. */
export function resultText(content: ToolResultPart['content']): string {
  return content.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

type ResultsById = Map<string, ToolResultPart[]>;

interface Answers {
  /** The results of each turn's calls. */
  readonly byTurn: readonly ResultsById[];
  /** All results that answer some call. */
  readonly answering: ReadonlySet<Part>;
}

/** A result belongs to the last turn before it that called by its id: vendors reuse ids. */
function answersIn(turns: readonly Turn[]): Answers {
  const owners = new Map<string, ResultsById>();
  const answering = new Set<Part>();
  const byTurn = turns.map((turn) => {
    const own: ResultsById = new Map();
    for (const { id } of callsIn(turn)) owners.set(id, own);
    for (const part of turn.parts.filter(isResult)) {
      const owner = owners.get(part.callId);
      if (owner === undefined) continue;
      const known = owner.get(part.callId);
      if (known === undefined) owner.set(part.callId, [part]);
      else known.push(part);
      answering.add(part);
    }
    return own;
  });
  return { byTurn, answering };
}

/** Calls of one turn that share an id take their results in order. Notes the results it took. */
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
    if (found === undefined) return missing(call);
    used.add(found);
    return { ...found, name: call.name };
  });
}

function missing({ id, name, at }: ToolCallPart): ToolResultPart {
  const content = [{ kind: 'text', text: 'no result', at }] as const;
  return { kind: 'tool_result', callId: id, name, content, isError: true, at };
}

/** The turn without the results that stand with their calls; none where nothing is left. */
function withoutAnswers(turn: Turn, answering: ReadonlySet<Part>): readonly Turn[] {
  if (!turn.parts.some(isResult)) return [turn];
  const parts = turn.parts
    .filter((part) => !answering.has(part))
    .flatMap((part) => (isResult(part) ? asText(part) : [part]));
  return parts.length === 0 ? [] : [{ role: turn.role, parts }];
}

/** The words of a result that answers nothing, and its pictures behind them. */
function asText({ name, content, at }: ToolResultPart): readonly Part[] {
  const text = `[tool result ${name ?? 'unknown'}]: ${resultText(content)}`;
  const said: TextPart = { kind: 'text', text, at };
  return [said, ...content.filter(({ kind }) => kind === 'media')];
}

function callsIn({ role, parts }: Turn): readonly ToolCallPart[] {
  return role === 'assistant' ? parts.filter((part) => part.kind === 'tool_call') : [];
}

function isResult(part: Part): part is ToolResultPart {
  return part.kind === 'tool_result';
}
