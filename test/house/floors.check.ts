/** The house has floors: imports lead down, never up and never in a circle. */
import { describe, expect, it } from 'vitest';
import { type Import, importsOf, resolveImport, sources } from './sources.ts';

/** From the ground up, as `docs/architecture.md` has them; what ends in `/` is a folder. */
const floors: readonly (readonly string[])[] = [
  [
    'src/errors.ts',
    'src/http.ts',
    'src/json.ts',
    'src/money.ts',
    'src/clock.ts',
    'src/random-ids.ts',
    'src/secret.ts',
    'src/charge-policy.ts',
  ],
  ['src/exact-numbers.ts'],
  ['src/ports/'],
  ['src/bytes/', 'src/canonical/', 'src/prices/'],
  ['src/call.ts', 'src/events.ts', 'src/issue-key.ts'],
  ['src/dialects/'],
  ['src/protocols/'],
  ['src/upstream/', 'src/stores/'],
  ['src/options.ts'],
  ['src/stages/'],
  ['src/gateway.ts', 'src/telemetry/', 'src/testing/'],
  ['src/index.ts'],
  ['adapters/'],
];

/** Whoever needs another package says so here, and in package.json. */
const packages: Readonly<Record<string, (path: string) => boolean>> = {
  undici: (path) => path === 'src/upstream/undici-client.ts',
  zod: (path) => path.startsWith('src/'),
};

interface Edge extends Import {
  readonly from: string;
  readonly to: string | undefined;
}

const files = sources().filter(({ fileName }) => /^(?:src|adapters)\//.test(fileName));

const edges: readonly Edge[] = files.flatMap((file) =>
  importsOf(file).map((found) => ({
    ...found,
    from: file.fileName,
    to: resolveImport(file.fileName, found.specifier),
  })),
);

describe('floors', () => {
  it('every file stands on one', () => {
    const homeless = files.map(({ fileName }) => fileName).filter((path) => floorOf(path) < 0);

    expect(files.length).toBeGreaterThan(0);
    expect(homeless).toEqual([]);
  });

  it('imports lead to a lower floor or stay in the folder', () => {
    expect(edges.filter((edge) => !leadsDown(edge)).map(say)).toEqual([]);
  });

  it('imports form no circle, types included', () => {
    expect(circleOf(edges)).toEqual([]);
  });

  it('a circle would be found', () => {
    const row = (from: string, to: string): Edge => ({ from, to, specifier: to, typeOnly: true });

    expect(circleOf([row('a', 'b'), row('b', 'c'), row('c', 'b')])).toEqual(['b', 'c', 'b']);
  });

  it('adapters take only types from the source', () => {
    const values = edges.filter(
      ({ from, to, typeOnly }) =>
        from.startsWith('adapters/') && to?.startsWith('src/') && !typeOnly,
    );

    expect(values.map(say)).toEqual([]);
  });

  it('a package is imported only where it is allowed: undici by the upstream client alone', () => {
    const foreign = edges.filter(
      ({ from, to, specifier }) =>
        to === undefined && !specifier.startsWith('node:') && !packages[specifier]?.(from),
    );

    expect(foreign.map(say)).toEqual([]);
  });

  it('examples use the package as a host does, by its name', () => {
    const inside = sources()
      .filter(({ fileName }) => fileName.startsWith('examples/'))
      .flatMap((file) =>
        importsOf(file).filter(({ specifier }) => {
          const to = resolveImport(file.fileName, specifier);
          return to !== undefined && !to.startsWith('examples/');
        }),
      );

    expect(inside).toEqual([]);
  });
});

function floorOf(path: string): number {
  return floors.findIndex((floor) =>
    floor.some((name) => (name.endsWith('/') ? path.startsWith(name) : path === name)),
  );
}

function leadsDown({ from, to }: Edge): boolean {
  if (to === undefined) return true;
  const [fromFloor, toFloor] = [floorOf(from), floorOf(to)];
  return toFloor < fromFloor || (toFloor === fromFloor && roomOf(to) === roomOf(from));
}

/** The folder right under `src`, or `src` itself for the files that lie there. */
function roomOf(path: string): string {
  return path.split('/').slice(0, -1).slice(0, 2).join('/');
}

/** The files of one circle in order, the first again at the end; empty where there is none. */
function circleOf(all: readonly Edge[]): readonly string[] {
  const done = new Set<string>();

  function search(path: string, trail: readonly string[]): readonly string[] {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return [];
    for (const { to } of all.filter(({ from }) => from === path)) {
      const circle = to === undefined ? [] : search(to, [...trail, path]);
      if (circle.length > 0) return circle;
    }
    done.add(path);
    return [];
  }

  for (const { from } of all) {
    const circle = search(from, []);
    if (circle.length > 0) return circle;
  }
  return [];
}

function say({ from, specifier }: Edge): string {
  return `${from} imports ${specifier}`;
}
