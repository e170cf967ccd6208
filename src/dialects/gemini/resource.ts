/** The resource name of a model in Google's paths and bodies. */

/**
 * `models/x` for a bare name. Names such as `tunedModels/x` and `publishers/…/x` are complete
 * already.
 */
export function resourceName(upstreamModel: string): string {
  return /^(?:models|tunedModels|publishers)\//.test(upstreamModel)
    ? upstreamModel
    : `models/${upstreamModel}`;
}
