/** How hard the model is to think, in OpenAI's words (TRANSLATION §6.9). */
import type { ContentRequest } from '../../../canonical/request.ts';
import type { ReasoningEffort } from '../../../ports/catalog.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';
import { nearestEffort } from '../../nearest-effort.ts';
import { lost, nothing, type Piece, written } from './piece.ts';

/** The member `reasoning_effort`. Whether thoughts are shown is the upstream's own choice. */
export function reasoningPiece(request: ContentRequest, flags: ResolvedCapabilities): Piece {
  const wanted = wantedEffort(request);
  const hasFunctions = request.tools.some(({ kind }) => kind === 'function');
  if (flags.toolEffortNone && hasFunctions) return effortPiece(request, wanted, 'none');
  if (wanted === undefined) return nothing;
  const given = flags.reasoning === 'none' ? undefined : nearestEffort(wanted, flags.efforts);
  return given === undefined ? lost(request.names.reasoning) : effortPiece(request, wanted, given);
}

function effortPiece(
  request: ContentRequest,
  wanted: ReasoningEffort | undefined,
  given: ReasoningEffort,
): Piece {
  const { members } = written({ reasoning_effort: given });
  const isReplaced = wanted !== undefined && wanted !== given;
  return { members, dropped: isReplaced ? [request.names.reasoning] : [] };
}

function wantedEffort({ reasoning }: ContentRequest): ReasoningEffort | undefined {
  return reasoning?.effort ?? effortOfBudget(reasoning?.budgetTokens);
}

function effortOfBudget(budget: number | undefined): ReasoningEffort | undefined {
  if (budget === undefined || budget < 0) return undefined;
  if (budget === 0) return 'none';
  if (budget <= 1024) return 'low';
  return budget <= 8192 ? 'medium' : 'high';
}
