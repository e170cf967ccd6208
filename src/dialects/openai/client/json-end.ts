/**
 * Finds the end of a JSON object that arrives in pieces. Each piece is scanned once, and only if
 * `isWhole` is called.
 */

export interface JsonEnd {
  add(piece: string): void;
  /**
   * True if the text is one object from its first brace to its last, followed by nothing but white
   * space.
   */
  isWhole(): boolean;
}

/** It counts braces only and does not check that the text is valid JSON. */
export function jsonEnd(): JsonEnd {
  let depth = 0;
  let state: 'before' | 'inside' | 'whole' | 'other' = 'before';
  let isString = false;
  let isEscaped = false;
  let unread: string[] = [];

  const takeInside = (token: string): void => {
    if (isEscaped) isEscaped = false;
    else if (token === '\\') isEscaped = isString;
    else if (token === '"') isString = !isString;
    else if (!isString && (token === '{' || token === '[')) depth += 1;
    else if (!isString && (token === '}' || token === ']')) depth -= 1;
    if (depth === 0) state = 'whole';
  };

  const take = (token: string): void => {
    if (state === 'inside') return takeInside(token);
    if (/\s/.test(token)) return;
    const isOpening = state === 'before' && token === '{';
    state = isOpening ? 'inside' : 'other';
    depth = isOpening ? 1 : 0;
  };

  return {
    add: (piece) => {
      if (state !== 'other') unread.push(piece);
    },
    isWhole: () => {
      for (const piece of unread) {
        for (const token of piece) take(token);
      }
      unread = [];
      return state === 'whole';
    },
  };
}
