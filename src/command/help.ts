/** Writes the help of the program and of each command. */
import type { Command, Option } from './command.ts';

/** Options of every command. */
export const commonOptions: Readonly<Record<string, Option>> = {
  json: { type: 'boolean', text: 'print one JSON document in place of text' },
  help: { type: 'boolean', text: 'explain the command' },
};

/** The list of commands. */
export function generalHelp(commands: readonly Command[]): string {
  return `Tollgate, a model gateway: keys, quota and exact billing in front of LLM APIs.

Usage: npx tollgate COMMAND [options]

${listOf(commands)}

  npx tollgate COMMAND --help explains a command. Begin with: npx tollgate demo
  npx tollgate --version prints the version of the package.
  Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 something can't be reached.
`;
}

/** The tasks of a command of two words: `keys`. */
export function taskHelp(name: string, tasks: readonly Command[]): string {
  return `Usage: npx tollgate ${name} TASK [options]

${listOf(tasks)}

  npx tollgate ${name} TASK --help explains a task.
`;
}

function listOf(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`).join('\n');
}

/** The help of one command. */
export function commandHelp(command: Command): string {
  const { name, positionals, options, about, examples } = command;
  const errors = { ...commonOptions.json, text: 'print an error as one JSON document' };
  const common = command.outlivesOutput ? { ...commonOptions, json: errors } : commonOptions;
  const all = Object.entries({ ...options, ...common });
  const names = all.map(([option, { value }]) => `--${option}${value ? ` ${value}` : ''}`);
  const width = Math.max(...names.map((written) => written.length));
  const rows = all.map(([, { text }], index) => `  ${(names[index] ?? '').padEnd(width)}  ${text}`);
  const usage = ['npx tollgate', name, positionals, '[options]'].filter(Boolean).join(' ');
  return `Usage: ${usage}

${about}

Options:
${rows.join('\n')}

${examples.length === 1 ? 'Example' : 'Examples'}:
${examples.map((example) => `  ${example}`).join('\n')}
`;
}
