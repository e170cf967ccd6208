/** What becomes of a value of the library in a JSON reply. */

/**
 * The JSON form of a type: amounts are decimal strings, and what is unknown is null. It is what
 * `jsonTextOf` writes, as a type.
 */
export type JsonOf<T> = T extends bigint
  ? string
  : T extends undefined
    ? null
    : T extends object
      ? { readonly [Name in keyof T]: JsonOf<T[Name]> }
      : T;
