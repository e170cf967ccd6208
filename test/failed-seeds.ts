/**
 * Every seed with which `npm run test:generators` ever failed: `npm run test:searches`, a part of
 * `npm run verify`, runs the file again with it.
 */
export const failedSeeds: readonly { readonly path: string; readonly seed: number }[] = [];
