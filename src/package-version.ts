/** The version of this package. */

/** A host may bundle the package, so that its version can't be read from a file. */
export const packageVersion = '0.1.0';
