/** Assembles streamed tool calls, tolerating vendors that misuse `index`, `id` and the name. */

import { parseBounded } from '../../../bounded-json.ts';
import { isCutJson } from '../../../canonical/cut-json.ts';
import type { FunctionNames } from '../../../canonical/function-names.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import { UpstreamError } from '../../../errors.ts';
import { isJsonObject, type JsonValue, member } from '../../../json.ts';
import { checkToolCalls } from '../../reply-lists.ts';
import { maxEventBytes } from '../../taps/tap.ts';
import { type JsonEnd, jsonEnd } from './json-end.ts';
import { signatureOf } from './signature.ts';
import { stringOrEmpty } from './string-or-empty.ts';

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
  argumentChars(): number;
  /**
   * Whether a piece came that may belong to another call than the one it was added to. It can't be
   * taken back: then no call of the choice may be passed on.
   */
  isUnclear(): boolean;
  /** The same, with what only the end of the choice shows. */
  endsUnclear(): boolean;
}

interface Slot {
  /** The vendor's index, if it uses one. */
  readonly key: number | undefined;
  isClosed: boolean;
  /** Neither an id nor an index of its own shows that all of its pieces belong to it. */
  isGuessed: boolean;
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

interface SlotTable {
  readonly names: FunctionNames;
  readonly slots: Slot[];
  /** The slot that a vendor's index currently refers to. */
  readonly byKey: Map<number, Slot>;
  /** The last slot with each id. */
  readonly byId: Map<string, Slot>;
  readonly repeatedIds: Set<string>;
  readonly sharedKeys: Set<number>;
  /** A piece has named an earlier call by its id: the pieces of several calls are mixed. */
  hasReturned: boolean;
  hasGuesses: boolean;
  isUnclear: boolean;
  isStreamed: boolean;
  heldChars: number;
  argumentChars: number;
  hasNames: boolean;
}

export function toolSlots(names: FunctionNames): ToolSlots {
  const table = newTable(names);
  const { slots, byKey } = table;
  return {
    add: (pieces) => {
      table.isStreamed ||= pieces.length > 0;
      pieces.forEach((entry, position) => {
        addStreamed(table, { key: indexOf(entry), piece: pieceOf(entry), position });
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
    isUnclear: () => table.isUnclear,
    endsUnclear: () => table.isUnclear || (table.isStreamed && isMixedUp(slots)),
  };
}

function newTable(names: FunctionNames): SlotTable {
  return {
    names,
    slots: [],
    byKey: new Map(),
    byId: new Map(),
    repeatedIds: new Set(),
    sharedKeys: new Set(),
    hasReturned: false,
    hasGuesses: false,
    isUnclear: false,
    isStreamed: false,
    heldChars: 0,
    argumentChars: 0,
    hasNames: false,
  };
}

/**
 * Whether a call that another one follows is over. Pieces that come later may name it by its id or
 * by its index: only a name, an id and whole arguments show that no piece is missing, and nothing
 * shows it for the text of a custom call.
 */
function isOver({ byKey }: SlotTable, slot: Slot | undefined): boolean {
  if (slot === undefined) return false;
  const hasIndex = slot.key !== undefined && byKey.get(slot.key) === slot;
  if (!hasIndex && slot.id === '') return true;
  return slot.name !== '' && slot.id !== '' && !slot.isCustom && slot.end.isWhole();
}

function open({ slots, byKey, sharedKeys }: SlotTable, key: number | undefined): Slot {
  // An entry that is not an object opens a slot too.
  checkToolCalls(slots.length);
  const state = { isCustom: false, isClosed: false, isGuessed: false };
  const begun = { key, id: '', name: '', arguments: '', ...state };
  const slot: Slot = { ...begun, end: jsonEnd(), providerData: undefined };
  slots.push(slot);
  if (key === undefined) return slot;
  if (byKey.has(key)) sharedKeys.add(key);
  byKey.set(key, slot);
  return slot;
}

interface Placed {
  readonly key: number | undefined;
  readonly piece: Piece;
  /** Its position in its delta. */
  readonly position: number;
}

function addStreamed(table: SlotTable, placed: Placed): void {
  const { key, piece } = placed;
  // Without an index, a piece without an id continues the last call.
  const held = key === undefined ? table.slots.at(-1) : table.byKey.get(key);
  const named = namedSlot(table, held, placed);
  const slot = named ?? continuedSlot(held, placed);
  if (slot === undefined) return add(table, open(table, key), piece);
  table.hasReturned ||= named !== undefined;
  if (piece.arguments !== '') judge(table, slot, { piece, isReturn: named !== undefined });
  add(table, slot, piece);
}

/** Returns the call that the piece names by its id, unless it is the held one or a new one. */
function namedSlot(
  { byId, repeatedIds, sharedKeys }: SlotTable,
  held: Slot | undefined,
  { key, piece }: Placed,
): Slot | undefined {
  const named = piece.id === '' || held?.id === piece.id ? undefined : byId.get(piece.id);
  if (named === undefined || repeatedIds.has(piece.id)) return undefined;
  // Vendors that repeat an id for different calls begin each one with its name.
  const hasNames = piece.name !== '' && named.name !== '';
  const hasNewIndex = key !== undefined && held === undefined;
  if (hasNames && (hasNewIndex || piece.name !== named.name)) return undefined;
  if (hasNames && piece.arguments.trim() !== '' && named.end.isWhole()) return undefined;
  // Such a vendor may also send the id of the other call later, with an index of its own.
  const isLateId = key !== undefined && held?.id === '' && !sharedKeys.has(key);
  return isLateId ? undefined : named;
}

/** Notes what makes it unclear whether these arguments belong to this call. */
function judge(
  table: SlotTable,
  slot: Slot,
  { piece, isReturn }: { readonly piece: Piece; readonly isReturn: boolean },
): void {
  const { slots, sharedKeys } = table;
  const isAlone = slots.length === 1;
  const hasOwnIndex = slot.key !== undefined && !sharedKeys.has(slot.key);
  const isNamed = piece.id !== '' && piece.id === slot.id;
  const isGuess = !isNamed && !isAlone && !hasOwnIndex;
  slot.isGuessed ||= isGuess;
  table.hasGuesses ||= isGuess;
  // The vendor goes back to earlier calls, so the last call is no more likely than the others.
  if (isGuess ? table.hasReturned : isReturn && table.hasGuesses) table.isUnclear = true;
  const isMore = piece.arguments.trim() !== '' && !isRepetition(slot, piece);
  const isAfterEnd = slot.isClosed || (!isAlone && !slot.isCustom && slot.end.isWhole());
  if (isMore && isAfterEnd) table.isUnclear = true;
}

/**
 * Whether a call has no arguments, perhaps because they were added to a call that has too much or
 * that has no name.
 */
function isMixedUp(slots: readonly Slot[]): boolean {
  const calls = slots.filter(({ name }) => name !== '');
  if (!calls.some((slot) => slot.arguments === '')) return false;
  return slots.some(
    (slot) =>
      slot.arguments !== '' && (slot.name === '' || (slot.isGuessed && isBroken(slot.arguments))),
  );
}

function isBroken(text: string): boolean {
  return parseBounded(text) === undefined && !isCutJson(text);
}

function add(table: SlotTable, slot: Slot, piece: Piece): void {
  if (slot.isClosed) return;
  const text = isRepetition(slot, piece) ? '' : piece.arguments;
  table.argumentChars += text.length;
  table.heldChars += piece.name.length + text.length;
  if (table.heldChars > maxEventBytes) throw new UpstreamError('body', 'event_too_large');
  table.hasNames ||= piece.name !== '';
  if (slot.id === '' && piece.id !== '') {
    if (table.byId.has(piece.id)) table.repeatedIds.add(piece.id);
    table.byId.set(piece.id, slot);
  }
  appendPiece(table, slot, { ...piece, arguments: text });
}

/** Returns the slot that the piece continues, or undefined if it starts a new call. */
function continuedSlot(held: Slot | undefined, { key, piece, position }: Placed): Slot | undefined {
  if (held === undefined || startsNewCall(held, piece)) return undefined;
  if (key !== undefined) return held;
  const isNewCall = position === 0 ? isOtherCall(held, piece) : isSeparate(held, piece);
  return isNewCall ? undefined : held;
}

/** Some servers send the index as text. */
function indexOf(entry: JsonValue): number | undefined {
  const stated = member(entry, 'index');
  const isText = typeof stated === 'string' && /^\d{1,9}$/.test(stated);
  const index = isText ? Number(stated) : stated;
  return typeof index === 'number' && index >= 0 ? index : undefined;
}

/**
 * Detects a new call of a vendor that reuses index 0: by another id, or by a name after complete
 * arguments.
 */
function startsNewCall(held: Slot, piece: Piece): boolean {
  if (piece.id !== '' && held.id !== '' && piece.id !== held.id) return piece.name !== '';
  // A call that has no name yet may get it after its arguments.
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

/**
 * Several pieces without an index in one delta are separate calls if they have an id or a name,
 * also with the id of the held call: only more of that call's arguments continue it.
 */
function isSeparate(held: Slot, piece: Piece): boolean {
  if (piece.id === '' || piece.id !== held.id) return piece.id !== '' || piece.name !== '';
  if (piece.name === '') return false;
  return piece.name !== held.name || (piece.arguments.trim() !== '' && held.end.isWhole());
}

/**
 * Some servers repeat the whole arguments at the end. White space at their end may be new, because
 * it is left out of a call that was sent.
 */
function isRepetition(slot: Slot, piece: Piece): boolean {
  const { length } = slot.arguments;
  if (length === 0 || !piece.arguments.startsWith(slot.arguments)) return false;
  const isSame = piece.arguments.slice(length).trim() === '';
  return isSame && !slot.isCustom && slot.end.isWhole();
}

/**
 * Appends a piece. Some vendors split the name over several pieces, others repeat it in each. The
 * name and the kind of a call are settled when its arguments begin, because the beginning of the
 * call may then be sent.
 */
function appendPiece({ names }: SlotTable, slot: Slot, piece: Piece): void {
  if (slot.id === '') slot.id = piece.id;
  const isSettled = slot.name !== '' && slot.arguments !== '';
  // Equal pieces may still be two halves of one name.
  const isRepeated = piece.name === slot.name && !names.isInPieces(slot.name, piece.name);
  if (!isSettled && !isRepeated) slot.name += piece.name;
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
