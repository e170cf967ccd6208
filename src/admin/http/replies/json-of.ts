/** The type of a library value once it is written as JSON. */

/**
 * The JSON form of a type: amounts are decimal strings, and undefined is null. `jsonTextOf` writes
 * values of this type.
 */
export type JsonOf<T> = T extends bigint
  ? string
  : T extends undefined
    ? null
    : T extends object
      ? { readonly [Name in keyof T]: JsonOf<T[Name]> }
      : T;
