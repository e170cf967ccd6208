/** Where an item stands in the output, and the events that every item begins and ends with. */
import type { EventLog } from './event-log.ts';

/** How far an item is. */
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** The place of one item. */
export interface ItemPlace {
  readonly id: string;
  /** Counts all items of the output, whatever their kind. */
  readonly index: number;
  readonly log: EventLog;
}

/** Announces an item, given as JSON text. */
export function addItem({ index, log }: ItemPlace, item: string): void {
  log.add('response.output_item.added', `"output_index":${index},"item":${item}`);
}

/** Announces that an item is whole, and returns it. Only then may a client act on it. */
export function endItem({ index, log }: ItemPlace, item: string): string {
  log.add('response.output_item.done', `"output_index":${index},"item":${item}`);
  return item;
}
