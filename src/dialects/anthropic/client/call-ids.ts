/**
 * Makes tool call ids valid for Anthropic, which restricts their characters and requires unique ids
 * in a conversation. Some providers restart at `call_1` in every turn.
 */
import { portableCallId } from '../../../canonical/call-ids.ts';
import type { Part, Turn } from '../../../canonical/request.ts';

/** Gives the turns of `pairedTurns` unique ids on calls and their results. */
export function withUniqueCallIds(turns: readonly Turn[]): readonly Turn[] {
  const unique = uniqueIds();
  let newIds = new Map<string, Queue>();
  return turns.map((turn) => {
    if (turn.role === 'assistant') newIds = new Map();
    const parts = turn.parts.map((part): Part => {
      if (part.kind === 'tool_call') {
        const id = unique(portableCallId(part.id));
        const queue = newIds.get(part.id);
        if (queue === undefined) newIds.set(part.id, { ids: [id], next: 0 });
        else queue.ids.push(id);
        return { ...part, id };
      }
      if (part.kind !== 'tool_result') return part;
      return { ...part, callId: nextOf(newIds.get(part.callId)) ?? portableCallId(part.callId) };
    });
    return { ...turn, parts };
  });
}

/** The new ids of calls that shared an id, in call order. */
interface Queue {
  readonly ids: string[];
  next: number;
}

/** Returns the last id repeatedly if there are more results than calls. */
function nextOf(queue: Queue | undefined): string | undefined {
  if (queue === undefined) return undefined;
  const id = queue.ids[queue.next];
  queue.next = Math.min(queue.next + 1, queue.ids.length - 1);
  return id;
}

/**
 * Returns an unused id, with a numeric suffix if necessary. The counter continues per id, so that
 * many duplicates don't take quadratic time.
 */
function uniqueIds(): (id: string) => string {
  const used = new Set<string>();
  const copies = new Map<string, number>();
  return (id) => {
    let free = id;
    for (let copy = copies.get(id) ?? 2; used.has(free); copy += 1) {
      free = portableCallId(`${id}_${copy}`);
      copies.set(id, copy + 1);
    }
    used.add(free);
    return free;
  };
}
