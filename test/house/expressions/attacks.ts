/**
 * Texts made to defeat a regular expression, from its own parts: the way to each of its loops, then
 * a part or a character repeated, then an end at which the match fails or succeeds.
 */
import { type AST, visitRegExpAST } from '@eslint-community/regexpp';
import type { Matcher } from './steps.ts';

/** A text of any length: the beginning, the repeated part, the end. */
export interface Attack {
  readonly head: string;
  readonly pump: string;
  readonly tail: string;
}

/** The attack with this many characters. */
export function textOf({ head, pump, tail }: Attack, length: number): string {
  const count = Math.ceil((length - head.length - tail.length) / pump.length);
  return `${head}${pump.repeat(Math.max(1, count))}${tail}`;
}

/** An attack, and the steps for {@link length} characters of it and for four times as many. */
export interface Growth {
  readonly attack: Attack;
  readonly steps: readonly [number, number];
}

/** A part repeated up to so many times counts as bounded. */
const maxBoundedRepeats = 100;
/** So many characters that a bounded part can't fill them. */
export const length = 5 * maxBoundedRepeats;
/** The work on four times the text: fourfold if it is linear, sixteenfold if it is quadratic. */
const maxFactor = 8;
/** Enough for any linear expression; an exponential one never ends. */
const maxSteps = 2_000 * length;
/** All attacks are run on texts of this length, and so many of the worst on longer ones. */
const trialLength = 256;
const trials = 25;

const maxHeads = 12;
const maxPumps = 60;
const maxTails = 8;
const maxExamples = 8;
/** Of the characters that an expression treats alike, one of these or of its own is used. */
const usual =
  'aAzx0_19 \t\n"\'\\/.,:;-+=%&#@$(){}[]<>*~\u0000\u0301\u200d\u00e9\u2028\ufffd\u{1f600}';

/** Finds an attack on which the work of an expression grows faster than the text. */
export function superlinearGrowth(matcher: Matcher): Growth | undefined {
  if (!hasLoop(matcher.pattern)) return undefined;
  for (const attack of worstAttacks(matcher, trials)) {
    const one = matcher.steps(textOf(attack, length), maxSteps);
    const limit = maxFactor * one + 1;
    const four = one < maxSteps ? matcher.steps(textOf(attack, 4 * length), limit) : limit;
    if (four >= limit) return { attack, steps: [one, four] };
  }
  return undefined;
}

/** Whether its repetitions, inside of one another at worst, may read more than a bounded part. */
function hasLoop(pattern: AST.Pattern): boolean {
  let repeats = 1;
  visitRegExpAST(pattern, {
    onQuantifierEnter: ({ max }) => {
      repeats *= Math.max(1, max);
    },
  });
  return repeats > maxBoundedRepeats;
}

/** The attacks that cost the most on a short text. */
function worstAttacks(matcher: Matcher, count: number): readonly Attack[] {
  return attacksOn(matcher)
    .map((attack) => ({ attack, cost: matcher.steps(textOf(attack, trialLength), maxSteps) }))
    .sort((one, other) => other.cost - one.cost)
    .slice(0, count)
    .map(({ attack }) => attack);
}

function attacksOn(matcher: Matcher): readonly Attack[] {
  const { ways, loops, wholes, letters } = new Parts(matcher);
  const heads = distinct(['', ...ways]).slice(0, maxHeads);
  const pairs = letters.flatMap((one) => letters.map((two) => one + two));
  const pumps = distinct([
    ...letters,
    ...loops,
    ...wholes,
    ...heads,
    ...wholes.flatMap((one) => [one.slice(0, -1), one.slice(1)]),
    ...heads.flatMap((way) => letters.map((letter) => way + letter)).slice(0, maxPumps / 3),
    ...pairs,
  ]).filter((pump) => pump !== '');
  const tails = distinct(['', '\u0000', '\n', ...wholes.flatMap((one) => [one, one.slice(0, -1)])]);
  return heads.flatMap((head) =>
    pumps
      .slice(0, maxPumps)
      .flatMap((pump) => tails.slice(0, maxTails).map((tail) => ({ head, pump, tail }))),
  );
}

/** Texts that match parts of an expression, or nearly, because assertions are ignored. */
class Parts {
  /** One character for each set of atoms that match it. */
  readonly letters: readonly string[];
  /** What leads to each loop without a bound. */
  readonly ways: string[] = [];
  /** What such a loop repeats. */
  readonly loops: string[] = [];
  /** What the whole expression matches. */
  readonly wholes: readonly string[];
  readonly #atoms: Matcher['atoms'];

  constructor({ pattern, atoms }: Matcher) {
    this.#atoms = atoms;
    const bySet = new Map<string, string>();
    for (const letter of [...usual, ...charactersIn(pattern)]) {
      const set = [...atoms.values()].map((matches) => (matches(letter) ? '1' : '0')).join('');
      if (!bySet.has(set)) bySet.set(set, letter);
    }
    this.letters = [...bySet.values()];
    this.wholes = this.#ofAlternatives(pattern.alternatives);
    this.#visit(pattern.alternatives, '');
  }

  #ofAlternatives(alternatives: readonly AST.Alternative[]): readonly string[] {
    return distinct(alternatives.flatMap(({ elements }) => this.#ofElements(elements))).slice(
      0,
      maxExamples,
    );
  }

  /** One element varies at a time. */
  #ofElements(elements: readonly AST.Element[]): readonly string[] {
    const each = elements.map((element) => this.#ofElement(element));
    const first = each.map(([one = '']) => one);
    return each.flatMap((options, index) =>
      options.slice(0, 4).map((option) => first.with(index, option).join('')),
    );
  }

  #ofElement(node: AST.Element): readonly string[] {
    if (node.type === 'Assertion') return [''];
    if (node.type === 'Group' || node.type === 'CapturingGroup') {
      return this.#ofAlternatives(node.alternatives);
    }
    if (node.type === 'Quantifier') {
      const inner = this.#ofElement(node.element);
      const filled = inner.map((one) => one.repeat(Math.max(1, node.min)));
      return node.min === 0 ? [...filled, ''] : filled;
    }
    const matches = this.#atoms.get(node.raw);
    return this.letters.filter((letter) => matches?.(letter)).slice(0, 3);
  }

  /** Notes the loops in the alternatives, which the text of `way` leads to. */
  #visit(alternatives: readonly AST.Alternative[], way: string): void {
    for (const { elements } of alternatives) {
      let before = way;
      for (const element of elements) {
        this.#visitElement(element, before);
        before += this.#ofElement(element)[0] ?? '';
      }
    }
  }

  #visitElement(node: AST.Element, way: string): void {
    if (node.type === 'Quantifier') {
      if (node.max === Number.POSITIVE_INFINITY) {
        this.ways.push(way);
        this.loops.push(...this.#ofElement(node.element));
      }
      this.#visitElement(node.element, way);
    } else if ('alternatives' in node) {
      this.#visit(node.alternatives, way);
    }
  }
}

/** The characters that an expression names. */
function charactersIn(pattern: AST.Pattern): readonly string[] {
  const found: string[] = [];
  visitRegExpAST(pattern, {
    onCharacterEnter: ({ value }) => found.push(String.fromCodePoint(value)),
  });
  return found;
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
