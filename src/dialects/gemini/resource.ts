/** How Google names a model in paths and bodies. */

/** `models/x` for a bare name; `tunedModels/x` and `publishers/…/x` are resources already. */
export function resourceName(upstreamModel: string): string {
  return /^(?:models|tunedModels|publishers)\//.test(upstreamModel)
    ? upstreamModel
    : `models/${upstreamModel}`;
}
