/** Writes docs/internals/wire-map.md from the table of the wires. */
import { join } from 'node:path';
import { readText } from '../sources.ts';
import { table } from './table.ts';
import { callers, features, relays, upstreams, type Wire } from './wires.ts';

/** The sections of the page. */
export const wireMap: Readonly<Record<string, () => string>> = {
  callers: () => wireTable(callers),
  upstreams: () => wireTable(upstreams),
  relays: () => wireTable(relays),
};

/** The files that the map names. */
export const mappedFiles: ReadonlySet<string> = new Set(
  [...callers, ...upstreams, ...relays].flatMap(({ folder, cells }) =>
    Object.values(cells).flatMap((cell) => placesIn(cell, folder).map(({ path }) => path)),
  ),
);

function wireTable(wires: readonly Wire[]): string {
  const columns = ['', ...wires.map(({ name, folder }) => `${name}: \`${folder}/\``)];
  const rows = Object.entries(features).map(([feature, name]) => [
    name,
    ...wires.map(({ cells, folder }) => cellText(Object(cells)[feature] ?? '', folder)),
  ]);
  return table(
    columns,
    rows.filter((row) => row.some((text, index) => index > 0 && text !== '')),
  );
}

function cellText(cell: string, folder: string): string {
  return placesIn(cell, folder)
    .map(({ path, file, names }) => {
      const text = readText(path);
      const missing = names.filter((name) => !declared(name).test(text));
      if (missing.length > 0) throw new Error(`${path} does not declare ${missing.join(', ')}.`);
      return `\`${file}.ts\` ${names.join(', ')}`;
    })
    .join('<br>');
}

function declared(name: string): RegExp {
  return new RegExp(`^(?:export )?(?:const|function\\*?|class|interface) ${name}\\b`, 'm');
}

interface Place {
  readonly path: string;
  readonly file: string;
  readonly names: readonly string[];
}

function placesIn(cell: string, folder: string): readonly Place[] {
  const places = cell.split(' ').filter((place) => place !== '');
  return places.map((place) => {
    const [file = '', names = ''] = place.split('#');
    const path = file.startsWith('/') ? join('src', file) : join('src', folder, file);
    return { path: `${path}.ts`, file: file.replace(/^\//, ''), names: names.split(',') };
  });
}
