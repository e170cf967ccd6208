/**
 * Matches each function result to its call. Histories for Google may lack ids; then results are
 * matched by name, and finally by position, within one step.
 */
import { derivedCallId } from '../../../canonical/call-ids.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import type {
  MediaPart,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  Turn,
} from '../../../canonical/request.ts';
import { resultText } from '../../../canonical/tool-results.ts';
import type { Drop } from './fields.ts';

export interface CallDraft {
  readonly kind: 'tool_call';
  readonly at: string;
  readonly sentId: string | undefined;
  readonly name: string;
  readonly arguments: string;
  /** The indexes of the content and of the part within it. A stable id is derived from them. */
  readonly position: readonly [number, number];
  readonly providerData?: ProviderData | undefined;
}

export interface ResultDraft {
  readonly kind: 'tool_result';
  readonly at: string;
  readonly sentId: string | undefined;
  readonly sentName: string | undefined;
  readonly content: readonly (TextPart | MediaPart)[];
  readonly isError: boolean;
  readonly providerData?: ProviderData | undefined;
}

/** A part as far as it can be read without the others. */
export type DraftPart = TextPart | ReasoningPart | MediaPart | CallDraft | ResultDraft;

export interface DraftTurn {
  readonly role: 'user' | 'assistant';
  readonly parts: readonly DraftPart[];
}

/** Parallel calls and the results that follow them. */
interface Step {
  readonly calls: readonly CallDraft[];
  readonly results: readonly ResultDraft[];
}

/** Gives every call and result an id. A result without a call becomes text. */
export function pairCalls(drafts: readonly DraftTurn[], drop: Drop): readonly Turn[] {
  const steps = stepsOf(drafts);
  const ids = idsOf(steps.flatMap(({ calls }) => calls));
  const matched = matchCalls(steps);
  return drafts.map(({ role, parts }) => ({
    role,
    parts: parts.flatMap((part): readonly Part[] => {
      if (part.kind === 'tool_call') return [withId(part, ids)];
      if (part.kind !== 'tool_result') return [part];
      const call = matched.get(part);
      if (call !== undefined) return [withCall(part, withId(call, ids))];
      drop(part.at);
      return unmatchedAsText(part);
    }),
  }));
}

/** A step begins with the first call, and with the first one after each user turn. */
function stepsOf(drafts: readonly DraftTurn[]): readonly Step[] {
  const steps: { calls: CallDraft[]; results: ResultDraft[] }[] = [];
  let beginsStep = true;
  for (const { role, parts } of drafts) {
    for (const part of parts) {
      if (part.kind === 'tool_result') {
        if (steps.length === 0) steps.push({ calls: [], results: [] });
        steps.at(-1)?.results.push(part);
      }
      if (part.kind !== 'tool_call') continue;
      if (beginsStep) steps.push({ calls: [], results: [] });
      beginsStep = false;
      steps.at(-1)?.calls.push(part);
    }
    beginsStep ||= role === 'user';
  }
  return steps;
}

/** The caller's ids, except missing ones and duplicates, which are replaced by derived ids. */
function idsOf(calls: readonly CallDraft[]): ReadonlyMap<CallDraft, string> {
  const ids = new Map<CallDraft, string>();
  const taken = new Set<string>();
  for (const call of calls) {
    const isFree = call.sentId !== undefined && !taken.has(call.sentId);
    const id = isFree && call.sentId ? call.sentId : derivedCallId(...call.position);
    taken.add(id);
    ids.set(call, id);
  }
  return ids;
}

/** By id, then name, then position: a nameless result never takes a named one's call. */
function matchCalls(steps: readonly Step[]): ReadonlyMap<ResultDraft, CallDraft> {
  const matched = new Map<ResultDraft, CallDraft>();
  const lastOfId = new Map<string, CallDraft>();
  for (const { calls, results } of steps) {
    const open = new Set(calls);
    const pair = (call: CallDraft | undefined, result: ResultDraft): void => {
      if (call === undefined) return;
      open.delete(call);
      matched.set(result, call);
    };
    for (const call of calls) if (call.sentId !== undefined) lastOfId.set(call.sentId, call);
    const ofId = firstOpen(calls, open, ({ sentId }) => sentId);
    const ofName = firstOpen(calls, open, ({ name }) => name);
    const ofAny = firstOpen(calls, open, () => '');
    for (const result of results) {
      const { sentId } = result;
      // This also matches further results of the same call, and calls of earlier steps.
      if (sentId !== undefined) pair(ofId(sentId) ?? lastOfId.get(sentId), result);
    }
    for (const result of results) {
      const { sentName } = result;
      if (sentName !== undefined && !matched.has(result)) pair(ofName(sentName), result);
    }
    for (const result of results) if (!matched.has(result)) pair(ofAny(''), result);
  }
  return matched;
}

/** Each call is skipped at most once, because a body may have a great many calls. */
function firstOpen(
  calls: readonly CallDraft[],
  open: ReadonlySet<CallDraft>,
  keyOf: (call: CallDraft) => string | undefined,
): (key: string) => CallDraft | undefined {
  const groups = groupBy(calls, keyOf);
  const skipped = new Map<string, number>();
  return (key) => {
    const group = groups.get(key) ?? [];
    let next = skipped.get(key) ?? 0;
    while (next < group.length && !isOpen(group[next], open)) next++;
    skipped.set(key, next);
    return group[next];
  };
}

function groupBy(
  calls: readonly CallDraft[],
  keyOf: (call: CallDraft) => string | undefined,
): ReadonlyMap<string, readonly CallDraft[]> {
  const groups = new Map<string, CallDraft[]>();
  for (const call of calls) {
    const key = keyOf(call);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [call]);
    else group.push(call);
  }
  return groups;
}

function isOpen(call: CallDraft | undefined, open: ReadonlySet<CallDraft>): boolean {
  return call !== undefined && open.has(call);
}

function withId(call: CallDraft, ids: ReadonlyMap<CallDraft, string>): ToolCallPart {
  return {
    kind: 'tool_call',
    at: call.at,
    id: ids.get(call) ?? derivedCallId(...call.position),
    name: call.name,
    arguments: call.arguments,
    providerData: call.providerData,
  };
}

function withCall(result: ResultDraft, call: ToolCallPart): Part {
  return {
    kind: 'tool_result',
    at: result.at,
    callId: call.id,
    name: call.name,
    content: result.content,
    isError: result.isError,
    providerData: result.providerData,
  };
}

function unmatchedAsText({ at, sentName, content }: ResultDraft): readonly Part[] {
  const text = `[tool result ${sentName ?? 'unknown'}]: ${resultText(content)}`;
  const media = content.filter(({ kind }) => kind === 'media');
  return [{ kind: 'text', at, text }, ...media];
}
