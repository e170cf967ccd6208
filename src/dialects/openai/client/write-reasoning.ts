/** Writes the reasoning effort. */
import type { ContentRequest } from '../../../canonical/request.ts';
import type { ReasoningEffort } from '../../../ports/catalog.ts';
import { nearestEffort, type ResolvedCapabilities } from '../../capabilities.ts';
import { droppedPiece, emptyPiece, membersPiece, mergePieces, type Piece } from './piece.ts';

/** Chat completions have no member that requests the reasoning itself. */
export function reasoningPiece(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  const { budgetAt } = request.reasoning ?? {};
  const effort = requestedPiece(request, flags);
  return budgetAt === undefined ? effort : mergePieces([effort, droppedPiece(budgetAt)]);
}

function requestedPiece(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  const { reasoning } = request;
  const requested = reasoning?.effort ?? effortOfBudget(reasoning?.budgetTokens);
  const hasFunctions = request.tools.some(({ kind }) => kind === 'function');
  if (flags.toolEffortNone && hasFunctions) return effortPiece(request, requested, 'none');
  if (requested === undefined) return emptyPiece;
  // A model that doesn't reason needs no setting to leave it.
  if (requested === 'none' && flags.reasoning === 'none') return emptyPiece;
  const supported =
    flags.reasoning === 'none' ? undefined : nearestEffort(requested, flags.efforts);
  return supported === undefined
    ? droppedPiece(request.names.reasoning)
    : effortPiece(request, requested, supported);
}

function effortPiece(
  request: ContentRequest,
  requested: ReasoningEffort | undefined,
  supported: ReasoningEffort,
): Piece {
  const { members } = membersPiece({ reasoning_effort: supported });
  const isReplaced = requested !== undefined && requested !== supported;
  return { members, dropped: isReplaced ? [request.names.reasoning] : [] };
}

function effortOfBudget(budget: number | undefined): ReasoningEffort | undefined {
  if (budget === undefined || budget < 0) return undefined;
  if (budget === 0) return 'none';
  if (budget <= 1024) return 'low';
  return budget <= 8192 ? 'medium' : 'high';
}
