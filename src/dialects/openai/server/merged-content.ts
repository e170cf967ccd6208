/** Merges provider-specific content, which may arrive in several pieces. */
import { isJsonObject } from '../../../json.ts';
import type { Piece, PieceValue } from './reply-pieces.ts';

/**
 * Merges two contents: objects member by member, arrays by concatenation; any other value is
 * replaced by the later one.
 */
export function mergedContent(one: Piece | undefined, other: Piece | undefined): Piece | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const merged: Record<string, PieceValue> = { ...one };
  for (const [provider, content] of Object.entries(other)) {
    const before = merged[provider];
    merged[provider] = isPiece(before) && isPiece(content) ? joined(before, content) : content;
  }
  return merged;
}

/**
 * Merges the members of one provider. An object among them is replaced, because each event contains
 * it in full.
 */
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
