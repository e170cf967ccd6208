/** Assembles streamed tool calls, tolerating vendors that misuse `index`, `id` and the name. */

import { parseBounded } from '../../../bounded-json.ts';
import { isCutJson } from '../../../canonical/cut-json.ts';
import type { FunctionNames } from '../../../canonical/function-names.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import { UpstreamError } from '../../../errors.ts';
import { isJsonObject, type JsonValue, member, stringOrEmpty } from '../../../json.ts';
import { checkToolCalls } from '../../reply-lists.ts';
import { maxEventBytes } from '../../taps/tap.ts';
import { type JsonEnd, jsonEnd } from './json-end.ts';
import { signatureOf } from './signature.ts';

export interface HeldCall {
  /** Empty if the upstream sent none. */
  readonly id: string;
  readonly name: string;
  /** JSON text, or the text that a custom tool is called with. */
  readonly arguments: string;
  readonly isCustom: boolean;
  readonly providerData: ProviderData | undefined;
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

/** The tool calls of one choice. Positions count from 0, in the order in which calls started. */
export class ToolSlots {
  readonly #names: FunctionNames;
  readonly #slots: Slot[] = [];
  /** The slot that a vendor's index currently refers to. */
  readonly #byKey = new Map<number, Slot>();
  /** The last slot with each id. */
  readonly #byId = new Map<string, Slot>();
  readonly #repeatedIds = new Set<string>();
  readonly #sharedKeys = new Set<number>();
  /** A piece has named an earlier call by its id: the pieces of several calls are mixed. */
  #hasReturned = false;
  #hasGuesses = false;
  #isUnclear = false;
  #isStreamed = false;
  #heldChars = 0;
  #argumentChars = 0;
  #hasNames = false;

  constructor(names: FunctionNames) {
    this.#names = names;
  }

  /** Adds the pieces of one delta. */
  add(pieces: readonly JsonValue[]): void {
    this.#isStreamed ||= pieces.length > 0;
    pieces.forEach((entry, position) => {
      this.#addStreamed({ key: indexOf(entry), piece: pieceOf(entry), position });
    });
  }

  /** Adds the calls of a whole message; each element is a separate call. */
  addWhole(calls: readonly JsonValue[]): void {
    for (const call of calls) this.#addTo(this.#open(undefined), pieceOf(call));
  }

  /** Adds a piece of the older `function_call`, of which a choice has at most one. */
  addFunctionCall(entry: JsonValue): void {
    const piece = functionPiece(entry);
    if (piece.name === '' && piece.arguments === '') return;
    this.#addTo(this.#byKey.get(functionCallKey) ?? this.#open(functionCallKey), piece);
  }

  /** Returns the calls that have a name, in the order in which they started. */
  calls(): readonly HeldCall[] {
    return this.#slots.filter(({ name }) => name !== '');
  }

  /** The call at this position, which may not have a name yet; undefined if none started there. */
  at(position: number): HeldCall | undefined {
    return this.#slots[position];
  }

  /**
   * Whether the call at this position is over because another one follows: its arguments are whole,
   * or the upstream's index now refers to another call.
   */
  isFollowed(position: number): boolean {
    return position + 1 < this.#slots.length && this.#isOver(this.#slots[position]);
  }

  /** Whether the arguments of the call at this position are one JSON object. */
  isWhole(position: number): boolean {
    return this.#slots[position]?.end.isWhole() === true;
  }

  /** Ignores all further pieces of the call at this position. */
  close(position: number): void {
    const slot = this.#slots[position];
    if (slot !== undefined) slot.isClosed = true;
  }

  /** No call has a name. */
  isEmpty(): boolean {
    return !this.#hasNames;
  }

  argumentChars(): number {
    return this.#argumentChars;
  }

  /**
   * Whether a piece came that may belong to another call than the one it was added to. It can't be
   * taken back: then no call of the choice may be passed on.
   */
  isUnclear(): boolean {
    return this.#isUnclear;
  }

  /** The same, with what only the end of the choice shows. */
  endsUnclear(): boolean {
    return this.#isUnclear || (this.#isStreamed && isMixedUp(this.#slots));
  }

  /**
   * Whether a call that another one follows is over. Pieces that come later may name it by its id
   * or by its index: only a name, an id and whole arguments show that no piece is missing, and
   * nothing shows it for the text of a custom call.
   */
  #isOver(slot: Slot | undefined): boolean {
    if (slot === undefined) return false;
    const hasIndex = slot.key !== undefined && this.#byKey.get(slot.key) === slot;
    if (!hasIndex && slot.id === '') return true;
    return slot.name !== '' && slot.id !== '' && !slot.isCustom && slot.end.isWhole();
  }

  #open(key: number | undefined): Slot {
    // An entry that is not an object opens a slot too.
    checkToolCalls(this.#slots.length);
    const state = { isCustom: false, isClosed: false, isGuessed: false };
    const begun = { key, id: '', name: '', arguments: '', ...state };
    const slot: Slot = { ...begun, end: jsonEnd(), providerData: undefined };
    this.#slots.push(slot);
    if (key === undefined) return slot;
    if (this.#byKey.has(key)) this.#sharedKeys.add(key);
    this.#byKey.set(key, slot);
    return slot;
  }

  #addStreamed(placed: Placed): void {
    const { key, piece } = placed;
    // Without an index, a piece without an id continues the last call.
    const held = key === undefined ? this.#slots.at(-1) : this.#byKey.get(key);
    const named = this.#namedSlot(held, placed);
    const slot = named ?? continuedSlot(held, placed);
    if (slot === undefined) return this.#addTo(this.#open(key), piece);
    this.#hasReturned ||= named !== undefined;
    if (piece.arguments !== '') this.#judge(slot, { piece, isReturn: named !== undefined });
    this.#addTo(slot, piece);
  }

  /** Returns the call that the piece names by its id, unless it is the held one or a new one. */
  #namedSlot(held: Slot | undefined, { key, piece }: Placed): Slot | undefined {
    const named = piece.id === '' || held?.id === piece.id ? undefined : this.#byId.get(piece.id);
    if (named === undefined || this.#repeatedIds.has(piece.id)) return undefined;
    // Vendors that repeat an id for different calls begin each one with its name.
    const hasNames = piece.name !== '' && named.name !== '';
    const hasNewIndex = key !== undefined && held === undefined;
    if (hasNames && (hasNewIndex || piece.name !== named.name)) return undefined;
    if (hasNames && piece.arguments.trim() !== '' && named.end.isWhole()) return undefined;
    // Such a vendor may also send the id of the other call later, with an index of its own.
    const isLateId = key !== undefined && held?.id === '' && !this.#sharedKeys.has(key);
    return isLateId ? undefined : named;
  }

  /** Notes what makes it unclear whether these arguments belong to this call. */
  #judge(
    slot: Slot,
    { piece, isReturn }: { readonly piece: Piece; readonly isReturn: boolean },
  ): void {
    const isAlone = this.#slots.length === 1;
    const hasOwnIndex = slot.key !== undefined && !this.#sharedKeys.has(slot.key);
    const isNamed = piece.id !== '' && piece.id === slot.id;
    const isGuess = !isNamed && !isAlone && !hasOwnIndex;
    slot.isGuessed ||= isGuess;
    this.#hasGuesses ||= isGuess;
    // The vendor goes back to earlier calls, so the last call is no more likely than the others.
    if (isGuess ? this.#hasReturned : isReturn && this.#hasGuesses) this.#isUnclear = true;
    const isMore = piece.arguments.trim() !== '' && !isRepetition(slot, piece);
    const isAfterEnd = slot.isClosed || (!isAlone && !slot.isCustom && slot.end.isWhole());
    if (isMore && isAfterEnd) this.#isUnclear = true;
  }

  #addTo(slot: Slot, piece: Piece): void {
    if (slot.isClosed) return;
    const text = isRepetition(slot, piece) ? '' : piece.arguments;
    this.#argumentChars += text.length;
    this.#heldChars += piece.name.length + text.length;
    if (this.#heldChars > maxEventBytes) throw new UpstreamError('body', 'event_too_large');
    this.#hasNames ||= piece.name !== '';
    if (slot.id === '' && piece.id !== '') {
      if (this.#byId.has(piece.id)) this.#repeatedIds.add(piece.id);
      this.#byId.set(piece.id, slot);
    }
    this.#appendPiece(slot, { ...piece, arguments: text });
  }

  /**
   * Appends a piece. Some vendors split the name over several pieces, others repeat it in each. The
   * name and the kind of a call are settled when its arguments begin, because the beginning of the
   * call may then be sent.
   */
  #appendPiece(slot: Slot, piece: Piece): void {
    if (slot.id === '') slot.id = piece.id;
    const isSettled = slot.name !== '' && slot.arguments !== '';
    // Equal pieces may still be two halves of one name.
    const isRepeated = piece.name === slot.name && !this.#names.isInPieces(slot.name, piece.name);
    if (!isSettled && !isRepeated) slot.name += piece.name;
    if (!isSettled) slot.isCustom ||= piece.isCustom;
    slot.arguments += piece.arguments;
    slot.end.add(piece.arguments);
    slot.providerData ??= piece.providerData;
  }
}

interface Placed {
  readonly key: number | undefined;
  readonly piece: Piece;
  /** Its position in its delta. */
  readonly position: number;
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
