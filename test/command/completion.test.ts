// suite: slow host
/** `tollgate completion`: what bash completes is what the commands take. */
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { commonOptions } from '../../src/command/command.ts';
import { commands } from '../../src/command/commands.ts';
import { commandFolder } from './called.ts';

describe('tollgate completion', () => {
  const names = commands.map(({ name }) => name);
  const optionsOf = (name: string): readonly string[] => {
    const command = commands.find((known) => known.name === name);
    return Object.keys({ ...command?.options, ...commonOptions }).map((option) => `--${option}`);
  };

  it('completes the commands, their tasks and all their options in bash', async () => {
    const script = await scriptFor('bash');
    const groups = names.map((name) => name.split(' ')[0] ?? '');
    const lines = [[''], ...groups.map((first) => [first, '']), ...names.map(optionLine)];
    const found = completed(script, lines);

    expect(found[0]).toEqual([...new Set(groups)]);
    for (const [index, name] of names.entries()) {
      const [, task] = name.split(' ');
      if (task !== undefined) expect(found[index + 1]).toContain(task);
      expect([name, found[groups.length + 1 + index]]).toEqual([name, optionsOf(name)]);
    }
  });

  it('completes no names where a value is expected', async () => {
    const script = await scriptFor('bash');
    const [value, begun] = completed(script, [
      ['usage', '--by', ''],
      ['keys', 'iss'],
    ]);

    expect(value).toEqual([]);
    expect(begun).toEqual(['issue']);
  });

  it.each(['bash', 'zsh', 'fish'])('prints every option with its meaning for %s', async (shell) => {
    const script = await scriptFor(shell);
    const unquoted = script.replace(/'\\''|\\'/g, "'");

    for (const { options, summary } of commands) {
      for (const { text } of Object.values(options)) expect(unquoted).toContain(text);
      expect(unquoted).toContain(summary);
    }
  });

  it('names the shells that it knows', async () => {
    const { code, err } = await commandFolder().call('completion', 'tcsh');

    expect([code, err]).toEqual([2, 'tollgate: SHELL must be bash, zsh, fish.\n']);
  });
});

async function scriptFor(shell: string): Promise<string> {
  return (await commandFolder().call('completion', shell)).out;
}

function optionLine(name: string): readonly string[] {
  return [...name.split(' '), '--'];
}

/** What bash offers for each line, whose last word is being typed. */
function completed(
  script: string,
  lines: readonly (readonly string[])[],
): readonly (readonly string[])[] {
  const calls = lines.map((words) => {
    const quoted = ['tollgate', ...words].map((word) => `'${word}'`).join(' ');
    return `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _tollgate; echo "\${COMPREPLY[*]}"`;
  });
  const out = execFileSync('bash', ['-eu', '-c', [script, ...calls].join('\n')], {
    encoding: 'utf8',
  });
  const rows = out.split('\n').slice(0, -1);
  return rows.map((row) => row.split(' ').filter((word) => word !== ''));
}
