// suite: slow
/** What docs/runbook.md says to do exists: commands, routes of the admin interface, buttons. */
import { expect, it } from 'vitest';
import { routes } from '../../src/admin/http/routes.ts';
import { commands } from '../../src/command/commands.ts';
import { readText, repoFiles } from '../house/sources.ts';

const [, text = ''] = readText('docs/runbook.md').split('## What to do, and where');
const [section = ''] = text.split('## Alerts');
const rows = [...section.matchAll(/^\| .* \|$/gm)]
  .slice(2)
  .map(([row]) => row.slice(1, -1).split('|'));

/** The texts of a column in this kind of quotes. */
function quoted(column: number, mark: '`' | '*'): readonly string[] {
  const pattern = mark === '`' ? /`([^`]+)`/g : /(?<!\*)\*([^*]+)\*(?!\*)/g;
  return rows.flatMap((cells) =>
    [...(cells[column] ?? '').matchAll(pattern)].map(([, text = '']) => text),
  );
}

it('the commands exist', () => {
  const names = commands.map(({ name }) => name);
  const named = quoted(3, '`').filter((text) => /^\w/.test(text));

  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((text) => !names.some((name) => `${text} `.startsWith(`${name} `)))).toEqual(
    [],
  );
});

it('the routes exist, and have their required parameters', () => {
  const known = routes.map(({ path }) => path.replace('{id}', 'ID'));
  const paths = quoted(4, '`').filter((text) => /^(?:GET )?\//.test(text));
  const whole = paths.map((path, index) =>
    path.split('/').length > 2 || path.startsWith('GET')
      ? path.replace('GET ', '')
      : (paths[index - 1] ?? '').replace(/\/\w+$/, path),
  );

  expect(whole.length).toBeGreaterThan(6);
  expect(whole.filter((path) => !known.includes(path.replace(/\?.*/, '')))).toEqual([]);
  for (const path of paths.filter((text) => text.startsWith('GET '))) {
    const [name, query = ''] = path.slice('GET '.length).split('?');
    const route = routes.find(
      (one) => one.method === 'GET' && one.path.replace('{id}', 'ID') === name,
    );
    const given = Object.fromEntries(new URLSearchParams(query.replace('…', '0')));
    expect([path, route?.query.safeParse(given).success]).toEqual([path, true]);
  }
});

it('the console has the buttons', () => {
  const page = repoFiles('src/console/page')
    .map((path) => readText(path))
    .join('\n');
  const buttons = quoted(2, '*');

  expect(buttons.length).toBeGreaterThan(4);
  expect(buttons.filter((text) => !page.includes(`'${text}'`))).toEqual([]);
});
