/**
 * `tollgate completion`: prints a script with which a shell completes commands and options. It has
 * their names, from the table of commands, and starts no process.
 */
import { type Command, commonOptions, exitCodes, usageError } from './command.ts';
import { printJson } from './output.ts';

const shells = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
const shellNames = ['bash', 'zsh', 'fish'] as const;

/** @param commands all of the program; read when the script is printed, so it may have this one */
export function completionOf(commands: () => readonly Command[]): Command {
  return {
    name: 'completion',
    summary: 'print a script that completes commands in a shell',
    positionals: 'SHELL',
    options: {},
    about: `Prints a script for bash, zsh or fish that completes the commands and options of
tollgate. It works for the name tollgate; with npx, add an alias: alias tollgate='npx tollgate'.`,
    examples: [
      'npx tollgate completion bash >> ~/.bashrc',
      'npx tollgate completion zsh >> ~/.zshrc',
      'npx tollgate completion fish > ~/.config/fish/completions/tollgate.fish',
    ],
    run: async ({ around, json, positionals: [name] }) => {
      const shell = shellNames.find((known) => known === name);
      if (shell === undefined) throw usageError(`SHELL must be ${shellNames.join(', ')}.`);
      const script = shells[shell](commands());
      if (json) printJson(around, { shell, script });
      else around.out(script);
      return exitCodes.done;
    },
  };
}

/** The words that may follow others, and what they mean; the path `''` is the program itself. */
function wordsAfter(
  commands: readonly Command[],
): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const words = new Map<string, Map<string, string>>();
  const add = (path: string, word: string, text: string): void => {
    const known = words.get(path) ?? new Map<string, string>();
    words.set(path, known);
    if (!known.has(word)) known.set(word, text);
  };
  for (const { name, summary, options } of commands) {
    const [first = '', second] = name.split(' ');
    add('', first, second === undefined ? summary : `${first} …`);
    if (second !== undefined) add(first, second, summary);
    for (const [option, { text }] of Object.entries({ ...options, ...commonOptions })) {
      add(name, `--${option}`, text);
    }
  }
  return words;
}

/** The options whose value is the path of a file, and those that have another value. */
function valuesOf(commands: readonly Command[]) {
  const all = commands.flatMap(({ options }) => Object.entries(options));
  const names = (isFile: boolean): readonly string[] => [
    ...new Set(
      all.flatMap(([option, { value }]) =>
        value !== undefined && (value === 'FILE') === isFile ? [`--${option}`] : [],
      ),
    ),
  ];
  return { files: names(true), others: names(false) };
}

/** What bash and zsh share: after the words that were typed, the next ones with their meaning. */
function nextWords(commands: readonly Command[]): string {
  const cases = [...wordsAfter(commands)].map(([path, words]) => {
    const lines = [...words].map(([word, text]) => `      ${quoted(`${word}:${text}`)}`);
    return `    ${quoted(path)}) printf '%s\\n' \\\n${lines.join(' \\\n')} ;;`;
  });
  return `_tollgate_next() {
  if [ "$#" -ge 2 ] && _tollgate_after "$1 $2"; then return; fi
  _tollgate_after "\${1-}"
}
_tollgate_after() {
  case "$1" in
${cases.join('\n')}
    *) return 1 ;;
  esac
}
`;
}

function bashScript(commands: readonly Command[]): string {
  const { files, others } = valuesOf(commands);
  return `${nextWords(commands)}_tollgate() {
  local current="\${COMP_WORDS[COMP_CWORD]}"
  local typed=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
  COMPREPLY=()
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
    ${files.join('|')}) COMPREPLY=($(compgen -f -- "$current")); return ;;
    ${others.join('|')}) return ;;
  esac
  COMPREPLY=($(compgen -W "$(_tollgate_next "\${typed[@]}" | cut -d: -f1)" -- "$current"))
}
complete -F _tollgate tollgate
`;
}

function zshScript(commands: readonly Command[]): string {
  const { files, others } = valuesOf(commands);
  return `#compdef tollgate
${nextWords(commands)}_tollgate() {
  case "\${words[CURRENT-1]}" in
    ${files.join('|')}) _files; return ;;
    ${others.join('|')}) return ;;
  esac
  local -a found
  found=("\${(@f)$(_tollgate_next "\${(@)words[2,CURRENT-1]}")}")
  _describe tollgate found
}
compdef _tollgate tollgate
`;
}

function fishScript(commands: readonly Command[]): string {
  const { files, others } = valuesOf(commands);
  const lines = [...wordsAfter(commands)].flatMap(([path, words]) =>
    [...words].map(([word, text]) => {
      const value = files.includes(word) ? ' -r -F' : others.includes(word) ? ' -x' : '';
      const what = word.startsWith('--') ? `-l ${word.slice(2)}${value}` : `-a ${word}`;
      const place = inFish(`__tollgate_at ${inFish(path)}`);
      return `complete -c tollgate -n ${place} ${what} -d ${inFish(text)}`;
    }),
  );
  const pairs = commands.flatMap(({ name }) => (name.includes(' ') ? [inFish(name)] : []));
  return `function __tollgate_at
  set -l typed (commandline -opc)
  set -e typed[1]
  set -l both "$typed[1] $typed[2]"
  if contains -- $both ${pairs.join(' ')}
    test "$argv[1]" = "$both"
  else
    test "$argv[1]" = "$typed[1]"
  end
end
complete -c tollgate -f
${lines.join('\n')}
`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function inFish(text: string): string {
  return `'${text.replace(/[\\']/g, String.raw`\$&`)}'`;
}
