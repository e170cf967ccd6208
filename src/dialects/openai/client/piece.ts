/** A part of a request body: some members of it, and what of the caller's is not in them. */
import type { JsonNode } from '../../../canonical/raw-json.ts';

/** Members of a JSON object that is being written. */
export type Members = Readonly<Record<string, JsonNode>>;

/** Some members, and the caller's names of what was left out, cut or replaced. */
export interface Piece {
  readonly members: Members;
  readonly dropped: readonly string[];
}

/** Nothing to write, nothing lost. */
export const emptyPiece: Piece = { members: {}, dropped: [] };

/** Members without a loss. */
export function membersPiece(members: Members): Piece {
  return { members, dropped: [] };
}

/** A loss without members. */
export function droppedPiece(name: string): Piece {
  return { members: {}, dropped: [name] };
}

/** All members and losses, each loss once. */
export function mergePieces(pieces: readonly Piece[]): Piece {
  return {
    members: Object.fromEntries(pieces.flatMap(({ members }) => Object.entries(members))),
    dropped: [...new Set(pieces.flatMap(({ dropped }) => dropped))],
  };
}
