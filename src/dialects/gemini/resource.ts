/** The resource name of a model in Google's paths and bodies. */

/** `models/x` for a bare name; `tunedModels/x` and `publishers/…/x` are complete already. */
export function resourceName(upstreamModel: string): string {
  return /^(?:models|tunedModels|publishers)\//.test(upstreamModel)
    ? upstreamModel
    : `models/${upstreamModel}`;
}

/** Segments are encoded, so that a configured name can't change the rest of the path. */
export function resourcePath(upstreamModel: string): string {
  return resourceName(upstreamModel).split('/').map(encodeURIComponent).join('/');
}
