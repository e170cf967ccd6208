/** Ids of keys and subjects, for the cases that store under many ids at once. */

const printable = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index));

/**
 * Every printable character alone and at each place of an id, and what a store might take for a
 * separator, a hash tag of a cluster, an escape, a pattern, a quotation, a number or a member that
 * objects inherit. Many begin with others, and some differ only in case.
 */
export const everyId: readonly string[] = [
  ...new Set([
    ...printable.flatMap((one) => [one, `a${one}`, `${one}a`, `a${one}a`]),
    ...['auth0|5f7c', 'user-7@example.com', 'a|b', 'a%7Cb', 'a%257Cb', 'a||', '{a}', '{}a', '}{'],
    ...['a|2026-11', 'a:b', "a'--", 'a\\n', '$1', '%25', '"],["', '\\x7c', '[a-z]', '?*'],
    ...['constructor', '__proto__', 'toString', 'null', 'true', '1', '01', '1.0', '1e0', '-1'],
    ...['Ada', 'ADA', 'ada', 'A'.repeat(64), printable.join('').padEnd(128, 'x')],
  ]),
];
