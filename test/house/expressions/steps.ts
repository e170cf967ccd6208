/**
 * Counts the steps of a backtracking matcher, which is what engines of JavaScript are: the work of
 * an expression on a text as a number that is the same on every machine.
 */
import { type AST, RegExpParser } from '@eslint-community/regexpp';

/** One instruction; `to` and `other` are positions of instructions. */
type Instruction =
  | { readonly kind: 'char'; readonly matches: (char: string) => boolean; readonly back: boolean }
  | { readonly kind: 'split'; readonly to: number; readonly other: number }
  | { readonly kind: 'jump'; readonly to: number }
  /** Ends a branch that came back to this loop without reading anything. */
  | { readonly kind: 'progress' }
  | { readonly kind: 'assert'; readonly holds: (text: Text, at: number) => boolean }
  | { readonly kind: 'look'; readonly program: Program; readonly negate: boolean };

type Program = readonly Instruction[];
/** UTF-16 units, or code points if the expression has the flag `u` or `v`. */
type Text = readonly string[];

/** A compiled expression. */
export interface Matcher {
  readonly pattern: AST.Pattern;
  /** What matches one character, by its text in the expression: `a`, `[^a]`, `\\s`. */
  readonly atoms: ReadonlyMap<string, (char: string) => boolean>;
  /**
   * The steps of finding all matches in a text, at most about `limit`. An expression that is linear
   * so is linear in every use: whatever finds only the first match does a part of this work.
   */
  steps(text: string, limit: number): number;
}

/** @throws Error for what the matcher does not know, such as a back-reference */
export function matcherOf(expression: RegExp): Matcher {
  const { source, flags, unicode } = expression;
  const unicodeSets = flags.includes('v');
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, {
    unicode,
    unicodeSets,
  });
  const compiler = new Compiler(flags);
  const program = compiler.compiled(pattern.alternatives, false);
  return {
    pattern,
    atoms: compiler.atoms,
    steps(text, limit) {
      const chars = unicode || unicodeSets ? [...text] : text.split('');
      const count = { steps: 0, limit };
      for (let at = 0; at <= chars.length && count.steps < limit; ) {
        const end = run(program, chars, at, count);
        at = end === undefined ? at + 1 : Math.max(end, at + 1);
      }
      return count.steps;
    },
  };
}

interface Count {
  steps: number;
  readonly limit: number;
}

/** Where a branch last passed each loop; shared by the branches that came from it. */
interface Passed {
  readonly loop: number;
  readonly at: number;
  readonly before: Passed | undefined;
}

/** Returns where the match that begins at `start` ends. */
function run(program: Program, text: Text, start: number, count: Count): number | undefined {
  const branches: [number, number, Passed | undefined][] = [[0, start, undefined]];
  for (let branch = branches.pop(); branch !== undefined; branch = branches.pop()) {
    let [next, at, passed] = branch;
    for (;;) {
      count.steps += 1;
      if (count.steps >= count.limit) return undefined;
      const instruction = program[next];
      if (instruction === undefined) return at;
      if (instruction.kind === 'split') {
        branches.push([instruction.other, at, passed]);
        next = instruction.to;
        continue;
      }
      if (instruction.kind === 'jump') {
        next = instruction.to;
        continue;
      }
      if (instruction.kind === 'char') {
        const char = text[instruction.back ? at - 1 : at];
        if (char === undefined || !instruction.matches(char)) break;
        at += instruction.back ? -1 : 1;
      } else if (instruction.kind === 'progress') {
        if (passedAt(passed, next) === at) break;
        passed = { loop: next, at, before: passed };
      } else if (instruction.kind === 'assert') {
        if (!instruction.holds(text, at)) break;
      } else if ((run(instruction.program, text, at, count) === undefined) !== instruction.negate) {
        break;
      }
      next += 1;
    }
  }
  return undefined;
}

function passedAt(passed: Passed | undefined, loop: number): number | undefined {
  let one = passed;
  while (one !== undefined && one.loop !== loop) one = one.before;
  return one?.at;
}

function mayBeEmpty(node: AST.Element): boolean {
  if (node.type === 'Assertion') return true;
  if (node.type === 'Quantifier') return node.min === 0 || mayBeEmpty(node.element);
  if (node.type !== 'Group' && node.type !== 'CapturingGroup') return false;
  return node.alternatives.some(({ elements }) => elements.every(mayBeEmpty));
}

class Compiler {
  readonly atoms = new Map<string, (char: string) => boolean>();
  readonly #flags: string;
  readonly #multiline: boolean;

  constructor(flags: string) {
    this.#flags = flags.replace(/[^isuv]/g, '');
    this.#multiline = flags.includes('m');
  }

  compiled(alternatives: readonly AST.Alternative[], back: boolean): Program {
    const program: Instruction[] = [];
    this.#addAlternatives(program, alternatives, back);
    return program;
  }

  #addAlternatives(
    program: Instruction[],
    alternatives: readonly AST.Alternative[],
    back: boolean,
  ): void {
    const ends: number[] = [];
    for (const [index, { elements }] of alternatives.entries()) {
      const split = program.length;
      const isLast = index === alternatives.length - 1;
      if (!isLast) program.push({ kind: 'jump', to: split + 1 });
      for (const element of back ? elements.toReversed() : elements) {
        this.#add(program, element, back);
      }
      if (isLast) continue;
      ends.push(program.push({ kind: 'jump', to: 0 }) - 1);
      program[split] = { kind: 'split', to: split + 1, other: program.length };
    }
    for (const end of ends) program[end] = { kind: 'jump', to: program.length };
  }

  #add(program: Instruction[], node: AST.Element, back: boolean): void {
    if (node.type === 'Group' || node.type === 'CapturingGroup') {
      this.#addAlternatives(program, node.alternatives, back);
    } else if (node.type === 'Quantifier') {
      this.#addQuantifier(program, node, back);
    } else if (node.type === 'Assertion') {
      program.push(this.#assertion(node));
    } else if (node.type === 'Backreference') {
      throw new Error(`The steps of ${node.raw} can't be counted.`);
    } else {
      program.push({ kind: 'char', matches: this.#testOf(node.raw), back });
    }
  }

  #addQuantifier(
    program: Instruction[],
    { element, min, max, greedy }: AST.Quantifier,
    back: boolean,
  ): void {
    for (let index = 0; index < min; index += 1) this.#add(program, element, back);
    const start = program.length;
    const exits: number[] = [];
    const copies = max === Number.POSITIVE_INFINITY ? 1 : max - min;
    for (let index = 0; index < copies; index += 1) {
      if (mayBeEmpty(element)) program.push({ kind: 'progress' });
      exits.push(program.push({ kind: 'jump', to: 0 }) - 1);
      this.#add(program, element, back);
    }
    if (max === Number.POSITIVE_INFINITY) program.push({ kind: 'jump', to: start });
    for (const exit of exits) {
      const [to, other] = greedy ? [exit + 1, program.length] : [program.length, exit + 1];
      program[exit] = { kind: 'split', to, other };
    }
  }

  #assertion(node: AST.Assertion): Instruction {
    if (node.kind === 'lookahead' || node.kind === 'lookbehind') {
      const program = this.compiled(node.alternatives, node.kind === 'lookbehind');
      return { kind: 'look', program, negate: node.negate };
    }
    if (node.kind === 'word') {
      const isWord = this.#testOf('\\w');
      const wordAt = (text: Text, at: number): boolean => {
        const char = text[at];
        return char !== undefined && isWord(char);
      };
      const holds = (text: Text, at: number): boolean =>
        (wordAt(text, at - 1) !== wordAt(text, at)) !== node.negate;
      return { kind: 'assert', holds };
    }
    const step = node.kind === 'start' ? -1 : 0;
    const isLineEnd = (char: string | undefined): boolean =>
      char === undefined || (this.#multiline && /[\n\r\u2028\u2029]/.test(char));
    return { kind: 'assert', holds: (text, at) => isLineEnd(text[at + step]) };
  }

  /** Asks the engine about each character once. */
  #testOf(raw: string): (char: string) => boolean {
    const known = this.atoms.get(raw);
    if (known !== undefined) return known;
    const expression = new RegExp(`^(?:${raw})$`, this.#flags);
    const answers = new Map<string, boolean>();
    const test = (char: string): boolean => {
      let answer = answers.get(char);
      if (answer === undefined) {
        answer = expression.test(char);
        answers.set(char, answer);
      }
      return answer;
    };
    this.atoms.set(raw, test);
    return test;
  }
}
