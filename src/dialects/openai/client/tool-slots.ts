/**
 * Puts streamed calls together, whatever a vendor makes of `index`, `id` and the name
 * (TRANSLATION §7.4).
 */

import type { ProviderData } from '../../../canonical/provider-data.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import { UpstreamError } from '../../../errors.ts';
import { type JsonValue, member } from '../../../json.ts';
import { maxEventBytes } from '../../tap.ts';
import { type JsonEnd, jsonEnd } from './json-end.ts';
import { signatureOf } from './signature.ts';
import { stringOrEmpty } from './string-or-empty.ts';

/** One call, as whole as it became. */
export interface HeldCall {
  /** Empty where the upstream gave none. */
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  readonly providerData: ProviderData | undefined;
}

/** The calls of one choice. */
export interface ToolSlots {
  /** The pieces of one delta. */
  add(pieces: readonly JsonValue[]): void;
  /** The calls of a whole message: each is one by itself. */
  addWhole(calls: readonly JsonValue[]): void;
  /** The older form of a call, of which a choice has one. */
  addFunctionCall(piece: JsonValue): void;
  /** What can be called, in the order in which it began. */
  calls(): readonly HeldCall[];
  isEmpty(): boolean;
  /** The arguments that are held, in characters. */
  heldChars(): number;
}

interface Slot {
  id: string;
  name: string;
  arguments: string;
  /** Whether the arguments are whole: asked at every piece, so never by parsing them anew. */
  readonly end: JsonEnd;
  providerData: ProviderData | undefined;
}

interface Piece {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  readonly providerData: ProviderData | undefined;
}

/** No upstream numbers a call so. */
const functionCallKey = -1;

/** Slots without a call yet. */
export function toolSlots(): ToolSlots {
  const slots: Slot[] = [];
  /** The slot that a vendor's number means now. */
  const byKey = new Map<number, Slot>();
  let heldChars = 0;
  let argumentChars = 0;
  let hasNames = false;
  const open = (key: number | undefined): Slot => {
    const slot: Slot = { id: '', name: '', arguments: '', end: jsonEnd(), providerData: undefined };
    slots.push(slot);
    if (key !== undefined) byKey.set(key, slot);
    return slot;
  };
  const add = (slot: Slot, piece: Piece): void => {
    argumentChars += piece.arguments.length;
    heldChars += piece.name.length + piece.arguments.length;
    if (heldChars > maxEventBytes) throw new UpstreamError('body', 'event_too_large');
    hasNames ||= piece.name !== '';
    appendPiece(slot, piece);
  };
  return {
    add: (pieces) => {
      pieces.forEach((entry, position) => {
        const piece = pieceOf(entry);
        const key = indexOf(entry);
        const held = key === undefined ? slots.at(-1) : byKey.get(key);
        add(continuedSlot(held, { key, piece, position }) ?? open(key), piece);
      });
    },
    addWhole: (calls) => {
      for (const call of calls) add(open(undefined), pieceOf(call));
    },
    addFunctionCall: (entry) => {
      const piece = functionPiece(entry);
      if (piece.name === '' && piece.arguments === '') return;
      add(byKey.get(functionCallKey) ?? open(functionCallKey), piece);
    },
    calls: () => slots.filter(({ name }) => name !== ''),
    isEmpty: () => !hasNames,
    heldChars: () => argumentChars,
  };
}

/** The slot that the piece goes on with, or undefined where it begins a call. */
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
 * Vendors that begin at 0 again for each call show it by another id, or by a name behind arguments
 * that were whole already.
 */
function startsNewCall(held: Slot, piece: Piece): boolean {
  if (piece.id !== '' && held.id !== '' && piece.id !== held.id) return piece.name !== '';
  if (piece.name === '' || (piece.id !== '' && piece.id === held.id)) return false;
  const isOther = piece.name !== held.name || piece.arguments.startsWith('{');
  return isOther && held.end.isWhole();
}

/** Without an index a new id or a new name is a new call. */
function isOtherCall(held: Slot, piece: Piece): boolean {
  if (piece.id !== '' && held.id !== '') return piece.id !== held.id;
  return piece.name !== '' && held.name !== '' && piece.name !== held.name;
}

/** Several unnumbered ones in one delta are several calls. */
function hasIdOrName({ id, name }: Piece): boolean {
  return id !== '' || name !== '';
}

/** A name comes in pieces, or in full with each of them. */
function appendPiece(slot: Slot, piece: Piece): void {
  if (slot.id === '') slot.id = piece.id;
  if (piece.name !== slot.name) slot.name += piece.name;
  slot.arguments += piece.arguments;
  slot.end.add(piece.arguments);
  slot.providerData ??= piece.providerData;
}

function pieceOf(entry: JsonValue): Piece {
  const called = member(entry, 'function');
  const custom = member(entry, 'custom');
  const isCustom =
    stringOrEmpty(member(called, 'name')) === '' && stringOrEmpty(member(custom, 'name')) !== '';
  const piece = functionPiece(isCustom ? custom : called);
  return {
    ...piece,
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
    providerData: undefined,
  };
}

/** Some servers give the arguments as an object. */
function argumentsText(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : jsonText(value);
}
