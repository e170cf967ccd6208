/**
 * Counts the calls of tools that ran at the provider of a Responses reply. They are read from the
 * items as they pass, so that a stream that breaks off is charged for what ran.
 */
import { isJsonObject, items, type JsonValue, member } from '../../../json.ts';
import type { CostMember, ToolCalls, Usage } from '../../../money.ts';
import { countIn } from '../../usage/usage-counts.ts';

export interface ToolCallCount {
  addItem(item: JsonValue): void;
  /** Adds the reply as it is at its end, which repeats its items. */
  addReply(reply: JsonValue): void;
  calls(): ToolCalls;
}

/** What an item was charged for: one call, or the container in which it ran. */
interface ChargedItem {
  readonly row: CostMember;
  /** Items with the same key are charged once. */
  readonly key: string | undefined;
}

/** Items of which each one is a call. */
const rowsByType: ReadonlyMap<JsonValue | undefined, CostMember> = new Map([
  ['web_search_call', 'web_search'],
  ['x_search_call', 'web_search'],
  ['file_search_call', 'file_search'],
  ['mcp_call', 'mcp'],
  ['image_generation_call', 'image_generation'],
  ['program', 'code_execution'],
  ['code_interpreter_call', 'code_interpreter'],
  ['shell_call', 'shell'],
  ['tool_search_call', 'tool_search'],
]);

export function toolCallCount(): ToolCallCount {
  let streamed: Tally | undefined;
  let whole: Tally | undefined;
  let reported: ToolCalls = {};
  return {
    addItem: (item) => {
      streamed = withItem(streamed, item);
    },
    addReply: (reply) => {
      for (const item of items(member(reply, 'output'))) whole = withItem(whole, item);
      reported = reportedCalls(member(reply, 'tool_usage'));
    },
    calls: () => ({ ...largest(streamed, whole), ...reported }),
  };
}

export function toolCallsIn(reply: JsonValue): ToolCalls {
  const count = toolCallCount();
  count.addReply(reply);
  return count.calls();
}

/** A usage that states them itself is kept. Of a reply without usage only these are known. */
export function withToolCalls(usage: Usage | undefined, calls: ToolCalls): Usage | undefined {
  if (usage !== undefined) return { ...usage, toolCalls: { ...calls, ...usage.toolCalls } };
  if (Object.keys(calls).length === 0) return undefined;
  const none = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, images: 0 };
  return { ...none, toolCalls: calls };
}

/** Charged items, of which each container is charged once. Most replies have none. */
interface Tally {
  readonly calls: Map<CostMember, number>;
  readonly keys: Set<string>;
}

function withItem(before: Tally | undefined, item: JsonValue): Tally | undefined {
  const charged = chargedItem(item);
  if (charged === undefined) return before;
  const { row, key } = charged;
  const tally = before ?? { calls: new Map(), keys: new Set() };
  const { calls, keys } = tally;
  if (key !== undefined) {
    if (keys.has(`${row} ${key}`)) return tally;
    keys.add(`${row} ${key}`);
  }
  calls.set(row, (calls.get(row) ?? 0) + 1);
  return tally;
}

/** What an item is charged for; undefined if it ran at the caller, failed, or is free. */
function chargedItem(item: JsonValue): ChargedItem | undefined {
  const row = rowsByType.get(member(item, 'type'));
  if (row === undefined || !isJsonObject(item) || member(item, 'status') === 'failed') {
    return undefined;
  }
  // Some servers send an item twice.
  const key = textOf(member(item, 'id'));
  switch (row) {
    case 'web_search': {
      // Pages that a search opens or looks through are free.
      const action = member(member(item, 'action'), 'type');
      return action === undefined || action === 'search' ? { row, key } : undefined;
    }
    case 'code_interpreter':
      return { row, key: textOf(member(item, 'container_id')) };
    case 'shell': {
      const container = textOf(member(member(item, 'environment'), 'container_id'));
      return container === undefined ? undefined : { row, key: container };
    }
    case 'tool_search':
      return member(item, 'execution') === 'client' ? undefined : { row, key };
    default:
      return { row, key };
  }
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** OpenAI's own count of searches, which replaces that of the items. */
function reportedCalls(usage: JsonValue | undefined): ToolCalls {
  const searches = countIn(member(usage, 'web_search'), 'num_requests');
  return searches === undefined ? {} : { web_search: searches };
}

function largest(one: Tally | undefined, other: Tally | undefined): ToolCalls {
  if (one === undefined || other === undefined) {
    return Object.fromEntries((one ?? other)?.calls ?? []);
  }
  const counts = new Map(one.calls);
  for (const [row, count] of other.calls) counts.set(row, Math.max(count, counts.get(row) ?? 0));
  return Object.fromEntries(counts);
}
