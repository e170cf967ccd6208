/**
 * A priority queue by due time: a binary heap whose entries know their index. A lease that is
 * settled early can thus be removed at once, and nothing piles up behind long leases.
 */

/** An item with a due time. After changing the time, call {@link reorder} for all its entries. */
export interface Due {
  readonly dueAtMs: number;
}

/** A heap, earliest first. Change it only by the functions below. */
export type DueQueue<T extends Due> = QueueEntry<T>[];

export interface QueueEntry<T extends Due> {
  readonly queue: DueQueue<T>;
  readonly item: T;
  index: number;
}

export function enqueue<T extends Due>(queue: DueQueue<T>, item: T): QueueEntry<T> {
  const entry = { queue, item, index: queue.length };
  queue.push(entry);
  siftUp(entry);
  return entry;
}

export function dequeue<T extends Due>(entry: QueueEntry<T>): void {
  const last = entry.queue.pop();
  if (last === undefined || last === entry) return;
  moveTo(last, entry.index);
  reorder(last);
}

export function reorder<T extends Due>(entry: QueueEntry<T>): void {
  siftUp(entry);
  siftDown(entry);
}

export function firstDue<T extends Due>(queue: DueQueue<T>, nowMs: number): T | undefined {
  const item = queue[0]?.item;
  return item !== undefined && item.dueAtMs <= nowMs ? item : undefined;
}

function siftUp<T extends Due>(entry: QueueEntry<T>): void {
  while (entry.index > 0) {
    const parent = entry.queue[(entry.index - 1) >> 1];
    if (parent === undefined || parent.item.dueAtMs <= entry.item.dueAtMs) return;
    swap(entry, parent);
  }
}

function siftDown<T extends Due>(entry: QueueEntry<T>): void {
  for (;;) {
    const child = earlierChild(entry);
    if (child === undefined || entry.item.dueAtMs <= child.item.dueAtMs) return;
    swap(entry, child);
  }
}

function earlierChild<T extends Due>(entry: QueueEntry<T>): QueueEntry<T> | undefined {
  const left = entry.queue[2 * entry.index + 1];
  const right = entry.queue[2 * entry.index + 2];
  if (left === undefined || right === undefined) return left;
  return right.item.dueAtMs < left.item.dueAtMs ? right : left;
}

function swap<T extends Due>(a: QueueEntry<T>, b: QueueEntry<T>): void {
  const { index } = a;
  moveTo(a, b.index);
  moveTo(b, index);
}

function moveTo<T extends Due>(entry: QueueEntry<T>, index: number): void {
  entry.queue[index] = entry;
  entry.index = index;
}
