/** Joins what providers say for themselves, which may come in several pieces. */
import { isJsonObject } from '../../../json.ts';
import type { Piece, PieceValue } from './reply-pieces.ts';

/** Both contents in one: objects member by member, lists end to end, of all else the later. */
export function mergedContent(one: Piece | undefined, other: Piece | undefined): Piece | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const merged: Record<string, PieceValue> = { ...one };
  for (const [provider, content] of Object.entries(other)) {
    const before = merged[provider];
    merged[provider] = isPiece(before) && isPiece(content) ? joined(before, content) : content;
  }
  return merged;
}

/** A provider's members; the object of one is replaced as a whole, for it is told as a whole. */
function joined(one: Piece, other: Piece): Piece {
  const merged: Record<string, PieceValue> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = merged[name];
    merged[name] = isList(before) && isList(value) ? [...before, ...value] : value;
  }
  return merged;
}

function isPiece(value: PieceValue): value is Piece {
  return isJsonObject(value);
}

function isList(value: PieceValue): value is readonly Piece[] {
  return Array.isArray(value);
}
