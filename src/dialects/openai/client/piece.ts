/** A piece of a request body: some members, and the caller's members that were dropped. */
import type { JsonNode } from '../../../canonical/raw-json.ts';

export type Members = Readonly<Record<string, JsonNode>>;

/** Some members, and the caller's names of members that were dropped, shortened or replaced. */
export interface Piece {
  readonly members: Members;
  readonly dropped: readonly string[];
}

export const emptyPiece: Piece = { members: {}, dropped: [] };

export function membersPiece(members: Members): Piece {
  return { members, dropped: [] };
}

export function droppedPiece(name: string): Piece {
  return { members: {}, dropped: [name] };
}

/** Merges pieces; each member that several of them drop is listed once. */
export function mergePieces(pieces: readonly Piece[]): Piece {
  const given = pieces.filter((piece) => piece !== emptyPiece);
  const [first = emptyPiece] = given;
  if (given.length < 2) return first;
  return {
    members: Object.fromEntries(given.flatMap(({ members }) => Object.entries(members))),
    dropped: [...new Set(given.flatMap(({ dropped }) => dropped))],
  };
}
