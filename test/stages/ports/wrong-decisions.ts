/** What a guard may answer that is no decision. */

/** Answers that are no decision, with the member that is wrong, if one is. */
export const wrong: readonly (readonly [how: string, answer: unknown, member?: string])[] = [
  ['a text', 'no'],
  ['false', false],
  ['zero', 0],
  ['true', true],
  ['a list', []],
  ['a misspelt refuse', { refused: 'x' }, 'refused'],
  ['refuse in capitals', { Refuse: 'x' }, 'Refuse'],
  ['deny', { deny: true }, 'deny'],
  ['another member beside metadata', { metadata: {}, allowed: false }, 'allowed'],
  ['a member that is a symbol', { [Symbol('refuse')]: 'x' }, 'a member'],
  ['a member that is not enumerable', Object.defineProperty({}, 'deny', { value: true }), 'deny'],
  ['a Map', new Map([['refuse', 'x']])],
  ['a Set', new Set(['refuse'])],
  ['a Response', new Response('no', { status: 403 })],
  ['a URLSearchParams', new URLSearchParams({ refuse: 'x' })],
  ['a Date', new Date(0)],
  ['an Error', new Error('refused')],
  ['a function', () => ({ refuse: 'x' })],
  ['a boxed boolean', Object(false)],
  ['an instance of a class', new (class Verdict {})()],
  ['an inherited member', Object.create({ deny: true })],
  ['a number in refuse', { refuse: 5 }, 'refuse'],
  ['true in refuse', { refuse: true }, 'refuse'],
  ['null in refuse', { refuse: null }, 'refuse'],
  ['metadata that is a text', { metadata: 'x' }, 'metadata'],
  ['metadata that is a list', { metadata: ['x'] }, 'metadata'],
  ['a label that is a number', { metadata: { a: 5 } }, 'metadata'],
  ['metadata that is a Map', { metadata: new Map([['a', 'x']]) }, 'metadata'],
  ['metadata that is a Headers', { metadata: new Headers({ a: 'x' }) }, 'metadata'],
  ['17 labels', { metadata: Object.fromEntries(labels(17)) }, 'metadata'],
  ['a long name', { metadata: { ['a'.repeat(65)]: 'x' } }, 'metadata'],
  ['a long value', { metadata: { a: 'x'.repeat(513) } }, 'metadata'],
];

export function labels(count: number): readonly (readonly [string, string])[] {
  return Array.from({ length: count }, (_, index) => [`label-${index}`, 'x']);
}
