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

/** Merges pieces; each dropped member is listed once. */
export function mergePieces(pieces: readonly Piece[]): Piece {
  return {
    members: Object.fromEntries(pieces.flatMap(({ members }) => Object.entries(members))),
    dropped: [...new Set(pieces.flatMap(({ dropped }) => dropped))],
  };
}
