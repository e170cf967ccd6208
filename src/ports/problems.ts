/**
 * Wrong members of what a host sets up, each by its path. Apart from the schemas that find them, so
 * that public types name no validator.
 */
import { ConfigurationError } from '../errors.ts';

/** The path of a value below the root: `['channels', 0, 'weight']`. */
export type Path = readonly PropertyKey[];

/** A wrong member. */
export interface Problem {
  /** Of the member, below the value that was checked. */
  readonly path: Path;
  /** Names the member and the remedy. It never contains the value, which may be a secret. */
  readonly sentence: string;
}

/** Nobody fixes more at once, and the text may stand in a log. */
const maxSentences = 50;

/** @throws ConfigurationError with a line for each problem, unless there is none */
export function refuseProblems(problems: readonly Problem[]): void {
  if (problems.length === 0) return;
  const lines = problems.slice(0, maxSentences).map(({ sentence }) => sentence);
  const left = problems.length - lines.length;
  const more = left === 0 ? [] : [`There are ${left} more problems.`];
  throw new ConfigurationError([...lines, ...more].join('\n'));
}

/** Whether one path is the other, or lies below it. */
export function isWithin(path: Path, other: Path): boolean {
  return other.length <= path.length && other.every((part, index) => part === path[index]);
}

/** A path as code writes it: `models[2].channels[0].headers["x-org"]`. */
export function formatPath(root: string, path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    const name = String(part);
    if (text === '' && /^[\w$]+$/.test(name)) return name;
    return /^[\w$]+$/.test(name) ? `${text}.${name}` : `${text}[${JSON.stringify(name)}]`;
  }, root);
}
