/**
 * Finds the command that was called, reads its options, runs it, and turns errors into exit codes.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { type AdminErrorCode, isAdminError } from '../admin/admin-error.ts';
import { errorName, isConfigurationError, isError } from '../errors.ts';
import { member, parseJson } from '../json.ts';
import { isStoreCorrupt, isStoreUnavailable } from '../ports/call-options.ts';
import {
  type Command,
  CommandError,
  commonOptions,
  type ExitCode,
  exitCodes,
  type Given,
  type Surroundings,
  usageError,
} from './command.ts';
import { reasonOf, withCommand } from './output.ts';

/** Runs the program with its arguments, and resolves to its exit code. Never rejects. */
export async function runProgram(
  args: readonly string[],
  commands: readonly Command[],
  around: Surroundings,
): Promise<number> {
  const json = args.includes('--json');
  try {
    const [first] = args;
    if (first === undefined || first.startsWith('-')) return answerGeneral(first, commands, around);
    if (first === 'help') return explain(args.slice(1), commands, around);
    const { command, rest } = findCommand(args, commands);
    if (command === undefined) return explain([first], commands, around);
    const given = read(command, rest, around);
    if (given.has('help')) {
      around.out(commandHelp(command));
      return exitCodes.done;
    }
    const code = await command.run(given);
    await checkOutput(command, around);
    return code;
  } catch (error) {
    const problem = problemOf(error);
    around.err(json ? `${JSON.stringify({ error: problem })}\n` : `tollgate: ${problem.message}\n`);
    return problem.exitCode;
  }
}

function answerGeneral(
  first: string | undefined,
  commands: readonly Command[],
  around: Surroundings,
): number {
  if (first === '--version' || first === '-v') {
    around.out(`${packageVersion()}\n`);
    return exitCodes.done;
  }
  if (first !== undefined && !['--help', '-h'].includes(first)) {
    throw usageError(
      `the first argument must be a command, not ${first}. See npx tollgate --help.`,
    );
  }
  around.out(generalHelp(commands));
  return first === undefined ? exitCodes.usage : exitCodes.done;
}

/** @throws CommandError if a part of the output could not be written */
async function checkOutput(command: Command, around: Surroundings): Promise<void> {
  if (command.outlivesOutput) return;
  const failure = await around.outFailure();
  // The reader has what it wanted, as `head` does.
  const isEnough = failure === 'EPIPE' && command.printsSecret === undefined;
  if (failure === undefined || isEnough) return;
  const remedy = command.printsSecret ? ' Replace the lost secret by keys rotate.' : '';
  throw new CommandError(
    exitCodes.unreachable,
    `standard output can't be written (${failure}): a part of the output of ` +
      `${command.name} is lost. The command itself was done.${remedy}`,
  );
}

/** The help of a command, of all tasks of `keys`, or of the program. */
function explain(
  words: readonly string[],
  commands: readonly Command[],
  around: Surroundings,
): number {
  const name = words.filter((word) => word !== '--json').join(' ');
  const command = commands.find((known) => known.name === name);
  const tasks = commands.filter((known) => known.name.startsWith(`${name} `));
  if (command !== undefined) around.out(commandHelp(command));
  else if (tasks.length > 0) around.out(taskHelp(name, tasks));
  else if (name === '') around.out(generalHelp(commands));
  else throw usageError(`there is no command "${name}". See npx tollgate --help.`);
  return exitCodes.done;
}

/** `command` is undefined for `keys --help`, which explains the tasks. */
function findCommand(
  args: readonly string[],
  commands: readonly Command[],
): { readonly command: Command | undefined; readonly rest: readonly string[] } {
  for (const words of [2, 1]) {
    const name = args.slice(0, words).join(' ');
    const command = commands.find((known) => known.name === name);
    if (command !== undefined) return { command, rest: args.slice(words) };
  }
  const [first = '', second] = args;
  const tasks = commands.flatMap(({ name }) =>
    name.startsWith(`${first} `) ? [name.slice(first.length + 1)] : [],
  );
  if (tasks.length > 0 && second === '--help') return { command: undefined, rest: [] };
  if (tasks.length > 0) {
    throw usageError(
      `${first} needs a task: ${tasks.join(', ')}. See npx tollgate ${first} --help.`,
    );
  }
  throw usageError(`there is no command "${first}". See npx tollgate --help.`);
}

function read(command: Command, args: readonly string[], around: Surroundings): Given {
  const options = { ...command.options, ...commonOptions };
  const { values, positionals } = parsed(command, args, options);
  const most = command.positionals?.split(' ').length ?? 0;
  if (positionals.length > most) {
    throw usageError(`"${positionals[most]}" is one argument too many. ${seeHelp(command)}`);
  }
  return {
    around,
    json: values.json === true,
    positionals,
    text: (name) => {
      const value = values[name];
      return typeof value === 'string' ? value : undefined;
    },
    all: (name) => {
      const value = values[name];
      return Array.isArray(value) ? value.map(String) : [];
    },
    has: (name) => values[name] === true,
  };
}

function parsed(command: Command, args: readonly string[], options: Command['options']) {
  const types = Object.entries(options).map(([name, { value, isList = false }]) => {
    const type = value === undefined ? 'boolean' : 'string';
    return [name, { type, multiple: isList }] as const;
  });
  try {
    const { tokens, ...rest } = parseArgs({
      args: [...args],
      options: Object.fromEntries(types),
      allowPositionals: true,
      strict: true,
      tokens: true,
    });
    // Otherwise the last one would count, and nobody would learn that the others did not.
    const names = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []));
    const twice = names.find((name, at) => names.indexOf(name) < at && !options[name]?.isList);
    if (twice !== undefined) throw new Error(`--${twice} is given twice`);
    return rest;
  } catch (error) {
    const reason = isError(error) ? (error.message.split('. ')[0] ?? '') : '';
    throw usageError(`${reason.replace(/\.$/, '')}. ${seeHelp(command)}`);
  }
}

function seeHelp({ name }: Command): string {
  return `See npx tollgate ${name} --help.`;
}

const codes = ['failed', 'failed', 'usage', 'unreachable'] as const;

function problemOf(thrown: unknown) {
  const error = causeOf(thrown);
  const exitCode = exitCodeOf(error);
  const isOfStore = isStoreUnavailable(error) || isStoreCorrupt(error);
  const message = isOfStore
    ? reasonOf(error)
    : withCommand(isError(error) ? error.message : String(error));
  return { exitCode, code: codes[exitCode] ?? 'failed', message };
}

/** The admin library hides the message of a store; whoever runs the command may read it. */
function causeOf(error: unknown): unknown {
  const cause = isAdminError(error) ? error.cause : undefined;
  return isStoreUnavailable(cause) || isStoreCorrupt(cause) ? cause : error;
}

const adminExitCodes: Partial<Readonly<Record<AdminErrorCode, ExitCode>>> = {
  invalid_request: exitCodes.usage,
  not_supported: exitCodes.usage,
  unavailable: exitCodes.unreachable,
};

function exitCodeOf(error: unknown): number {
  if (isConfigurationError(error) || errorName(error) === 'RangeError') return exitCodes.usage;
  if (isAdminError(error)) return adminExitCodes[error.code] ?? exitCodes.failed;
  if (isStoreUnavailable(error)) return exitCodes.unreachable;
  const stated: unknown = isError(error) ? Reflect.get(error, 'exitCode') : undefined;
  return typeof stated === 'number' ? stated : exitCodes.failed;
}

function generalHelp(commands: readonly Command[]): string {
  return `Tollgate, a model gateway: keys, quota and exact billing in front of LLM APIs.

Usage: npx tollgate COMMAND [options]

${listOf(commands)}

  npx tollgate COMMAND --help explains a command. Begin with: npx tollgate demo
  npx tollgate --version prints the version of the package.
  Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 something can't be reached.
`;
}

function taskHelp(name: string, tasks: readonly Command[]): string {
  return `Usage: npx tollgate ${name} TASK [options]

${listOf(tasks)}

  npx tollgate ${name} TASK --help explains a task.
`;
}

function listOf(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`).join('\n');
}

function commandHelp(command: Command): string {
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

/** The version in the nearest package.json, which is above the source and above the build. */
function packageVersion(): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const version = versionIn(join(folder, 'package.json'));
    if (version !== undefined) return version;
  }
  return 'unknown';
}

function versionIn(path: string): string | undefined {
  try {
    const version = member(parseJson(readFileSync(path, 'utf8')), 'version');
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}
