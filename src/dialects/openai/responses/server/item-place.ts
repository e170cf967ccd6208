/** Where an item stands in the output, and the events that every item begins and ends with. */
import type { EventLog } from './event-log.ts';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export interface ItemPlace {
  readonly id: string;
  /** Counts all items of the output, whatever their kind. */
  readonly index: number;
  readonly log: EventLog;
}

export function addItem({ index, log }: ItemPlace, item: string): void {
  log.add('response.output_item.added', `"output_index":${index},"item":${item}`);
}

/** Announces that an item is whole, and returns it. Only then may a client act on it. */
export function endItem({ index, log }: ItemPlace, item: string): string {
  log.add('response.output_item.done', `"output_index":${index},"item":${item}`);
  return item;
}
