/** Assembles streamed tool calls, tolerating vendors that misuse `index`, `id` and the name. */

import type { ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import { UpstreamError } from '../../../errors.ts';
import { isJsonObject, type JsonValue, member } from '../../../json.ts';
import { checkToolCalls } from '../../reply-lists.ts';
import { maxEventBytes } from '../../tap.ts';
import { type JsonEnd, jsonEnd } from './json-end.ts';
import { signatureOf } from './signature.ts';
import { stringOrEmpty } from './string-or-empty.ts';

/** A tool call, as far as it was received. */
export interface HeldCall {
  /** Empty if the upstream sent none. */
  readonly id: string;
  readonly name: string;
  /** JSON text, or the text that a custom tool is called with. */
  readonly arguments: string;
  readonly isCustom: boolean;
  readonly providerData: ProviderData | undefined;
}

/** The tool calls of one choice. Positions count from 0, in the order in which calls started. */
export interface ToolSlots {
  /** Adds the pieces of one delta. */
  add(pieces: readonly JsonValue[]): void;
  /** Adds the calls of a whole message; each element is a separate call. */
  addWhole(calls: readonly JsonValue[]): void;
  /** Adds a piece of the older `function_call`, of which a choice has at most one. */
  addFunctionCall(piece: JsonValue): void;
  /** Returns the calls that have a name, in the order in which they started. */
  calls(): readonly HeldCall[];
  /** The call at this position, which may not have a name yet; undefined if none started there. */
  at(position: number): HeldCall | undefined;
  /**
   * Whether the call at this position is over because another one follows: its arguments are whole,
   * or the upstream's index now refers to another call.
   */
  isFollowed(position: number): boolean;
  /** Whether the arguments of the call at this position are one JSON object. */
  isWhole(position: number): boolean;
  /** Ignores all further pieces of the call at this position. */
  close(position: number): void;
  /** No call has a name. */
  isEmpty(): boolean;
  /** The characters of all arguments so far. */
  argumentChars(): number;
}

interface Slot {
  /** The vendor's index, if it uses one. */
  readonly key: number | undefined;
  isClosed: boolean;
  id: string;
  name: string;
  arguments: string;
  isCustom: boolean;
  /** Tells whether the arguments are complete without parsing them again for every piece. */
  readonly end: JsonEnd;
  providerData: ProviderData | undefined;
}

interface Piece {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  readonly isCustom: boolean;
  readonly providerData: ProviderData | undefined;
}

/** A key that no upstream uses as an index. */
const functionCallKey = -1;

/** The slots of one choice, and how much they hold. */
interface SlotTable {
  readonly slots: Slot[];
  /** The slot that a vendor's index currently refers to. */
  readonly byKey: Map<number, Slot>;
  heldChars: number;
  argumentChars: number;
  hasNames: boolean;
}

/** Starts without calls. */
export function toolSlots(): ToolSlots {
  const slots: Slot[] = [];
  const byKey = new Map<number, Slot>();
  const table: SlotTable = { slots, byKey, heldChars: 0, argumentChars: 0, hasNames: false };
  return {
    add: (pieces) => {
      pieces.forEach((entry, position) => {
        const piece = pieceOf(entry);
        const key = indexOf(entry);
        const held = key === undefined ? slots.at(-1) : byKey.get(key);
        add(table, continuedSlot(held, { key, piece, position }) ?? open(table, key), piece);
      });
    },
    addWhole: (calls) => {
      for (const call of calls) add(table, open(table, undefined), pieceOf(call));
    },
    addFunctionCall: (entry) => {
      const piece = functionPiece(entry);
      if (piece.name === '' && piece.arguments === '') return;
      add(table, byKey.get(functionCallKey) ?? open(table, functionCallKey), piece);
    },
    calls: () => slots.filter(({ name }) => name !== ''),
    at: (position) => slots[position],
    isFollowed: (position) => position + 1 < slots.length && isOver(table, slots[position]),
    isWhole: (position) => slots[position]?.end.isWhole() === true,
    close: (position) => {
      const slot = slots[position];
      if (slot !== undefined) slot.isClosed = true;
    },
    isEmpty: () => !table.hasNames,
    argumentChars: () => table.argumentChars,
  };
}

/**
 * Whether a call that another one follows is over. Without an index, pieces only continue the last
 * call. With one, vendors may interleave the pieces of several calls: only a name, an id and whole
 * arguments show that no piece is missing, and nothing shows it for the text of a custom call.
 */
function isOver({ byKey }: SlotTable, slot: Slot | undefined): boolean {
  if (slot === undefined) return false;
  if (slot.key === undefined || byKey.get(slot.key) !== slot) return true;
  return slot.name !== '' && slot.id !== '' && !slot.isCustom && slot.end.isWhole();
}

function open({ slots, byKey }: SlotTable, key: number | undefined): Slot {
  // An entry that is no object also opens a slot.
  checkToolCalls(slots.length);
  const begun = { key, id: '', name: '', arguments: '', isCustom: false, isClosed: false };
  const slot: Slot = { ...begun, end: jsonEnd(), providerData: undefined };
  slots.push(slot);
  if (key !== undefined) byKey.set(key, slot);
  return slot;
}

function add(table: SlotTable, slot: Slot, piece: Piece): void {
  if (slot.isClosed) return;
  const text = isRepetition(slot, piece) ? '' : piece.arguments;
  table.argumentChars += text.length;
  table.heldChars += piece.name.length + text.length;
  if (table.heldChars > maxEventBytes) throw new UpstreamError('body', 'event_too_large');
  table.hasNames ||= piece.name !== '';
  appendPiece(slot, { ...piece, arguments: text });
}

/** Returns the slot that the piece continues, or undefined if it starts a new call. */
function continuedSlot(
  held: Slot | undefined,
  {
    key,
    piece,
    position,
  }: {
    readonly key: number | undefined;
    readonly piece: Piece;
    readonly position: number;
  },
): Slot | undefined {
  if (held === undefined || startsNewCall(held, piece)) return undefined;
  if (key !== undefined) return held;
  const isNewCall = position === 0 ? isOtherCall(held, piece) : hasIdOrName(piece);
  return isNewCall ? undefined : held;
}

function indexOf(entry: JsonValue): number | undefined {
  const index = member(entry, 'index');
  return typeof index === 'number' && index >= 0 ? index : undefined;
}

/**
 * Detects a new call of a vendor that reuses index 0: by another id, or by a name after complete
 * arguments.
 */
function startsNewCall(held: Slot, piece: Piece): boolean {
  if (piece.id !== '' && held.id !== '' && piece.id !== held.id) return piece.name !== '';
  // A call that has no name yet may get it behind its arguments.
  if (piece.name === '' || held.name === '') return false;
  if (piece.id !== '' && piece.id === held.id) return false;
  const isOther = piece.name !== held.name || piece.arguments.startsWith('{');
  return isOther && held.end.isWhole();
}

/** Without an index, a new id or a new name starts a new call. */
function isOtherCall(held: Slot, piece: Piece): boolean {
  if (piece.id !== '' && held.id !== '') return piece.id !== held.id;
  return piece.name !== '' && held.name !== '' && piece.name !== held.name;
}

/** Several pieces without an index in one delta are separate calls if they have an id or a name. */
function hasIdOrName({ id, name }: Piece): boolean {
  return id !== '' || name !== '';
}

/** Some servers repeat the whole arguments at the end; nothing else can follow whole ones. */
function isRepetition(slot: Slot, piece: Piece): boolean {
  const isSame = slot.arguments !== '' && slot.arguments === piece.arguments;
  return isSame && !slot.isCustom && slot.end.isWhole();
}

/**
 * Appends a piece. Some vendors split the name over several pieces, others repeat it in each. The
 * name and the kind of a call are settled when its arguments begin, because the beginning of the
 * call may then be sent.
 */
function appendPiece(slot: Slot, piece: Piece): void {
  if (slot.id === '') slot.id = piece.id;
  const isSettled = slot.name !== '' && slot.arguments !== '';
  if (!isSettled && piece.name !== slot.name) slot.name += piece.name;
  if (!isSettled) slot.isCustom ||= piece.isCustom;
  slot.arguments += piece.arguments;
  slot.end.add(piece.arguments);
  slot.providerData ??= piece.providerData;
}

function pieceOf(entry: JsonValue): Piece {
  const called = member(entry, 'function');
  const custom = member(entry, 'custom');
  // Only the first piece of a streamed call has a name.
  const isFunction = argumentsText(member(called, 'name') ?? member(called, 'arguments')) !== '';
  const isCustom = !isFunction && isJsonObject(custom);
  const piece = functionPiece(isCustom ? custom : called);
  return {
    ...piece,
    isCustom,
    arguments: isCustom ? stringOrEmpty(member(custom, 'input')) : piece.arguments,
    id: stringOrEmpty(member(entry, 'id')),
    providerData: signatureOf(entry) ?? signatureOf(called),
  };
}

function functionPiece(called: JsonValue | undefined): Piece {
  return {
    id: '',
    name: stringOrEmpty(member(called, 'name')),
    arguments: argumentsText(member(called, 'arguments')),
    isCustom: false,
    providerData: undefined,
  };
}

/** Some servers send the arguments as an object. */
function argumentsText(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : jsonText(value);
}
