/**
 * Items in order of the time they fall due: a binary heap whose places know where they are, so that
 * a lease that is settled early leaves at once and nothing piles up behind long ones.
 */

/** What can be queued. Its time may change, if every place of it is told by {@link reorder}. */
export interface Due {
  readonly dueAtMs: number;
}

/** Earliest first, as heaps go; change it only by the functions below. */
export type DueQueue<T extends Due> = Place<T>[];

/** Where an item stands in one queue. */
export interface Place<T extends Due> {
  readonly queue: DueQueue<T>;
  readonly item: T;
  index: number;
}

/** Puts an item into a queue. */
export function enter<T extends Due>(queue: DueQueue<T>, item: T): Place<T> {
  const place = { queue, item, index: queue.length };
  queue.push(place);
  rise(place);
  return place;
}

/** Takes an item out of the queue, wherever it stands. */
export function leave<T extends Due>(place: Place<T>): void {
  const last = place.queue.pop();
  if (last === undefined || last === place) return;
  put(last, place.index);
  reorder(last);
}

/** Finds the right place again after the item's time has changed. */
export function reorder<T extends Due>(place: Place<T>): void {
  rise(place);
  sink(place);
}

/** The item that is due first, if it is due by now. */
export function firstDue<T extends Due>(queue: DueQueue<T>, nowMs: number): T | undefined {
  const item = queue[0]?.item;
  return item !== undefined && item.dueAtMs <= nowMs ? item : undefined;
}

function rise<T extends Due>(place: Place<T>): void {
  while (place.index > 0) {
    const parent = place.queue[(place.index - 1) >> 1];
    if (parent === undefined || parent.item.dueAtMs <= place.item.dueAtMs) return;
    swap(place, parent);
  }
}

function sink<T extends Due>(place: Place<T>): void {
  for (;;) {
    const child = earlierChild(place);
    if (child === undefined || place.item.dueAtMs <= child.item.dueAtMs) return;
    swap(place, child);
  }
}

function earlierChild<T extends Due>(place: Place<T>): Place<T> | undefined {
  const left = place.queue[2 * place.index + 1];
  const right = place.queue[2 * place.index + 2];
  if (left === undefined || right === undefined) return left;
  return right.item.dueAtMs < left.item.dueAtMs ? right : left;
}

function swap<T extends Due>(a: Place<T>, b: Place<T>): void {
  const { index } = a;
  put(a, b.index);
  put(b, index);
}

function put<T extends Due>(place: Place<T>, index: number): void {
  place.queue[index] = place;
  place.index = index;
}
