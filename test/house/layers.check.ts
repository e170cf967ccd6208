/** The source has layers: imports go only to lower layers, and there are no import cycles. */
import { describe, expect, it } from 'vitest';
import { type Import, importsOf, resolveImport, sources } from './sources.ts';

/** From the lowest up, as in docs/internals/architecture.md; a name that ends in `/`: a folder. */
const layers: readonly (readonly string[])[] = [
  [
    'src/errors.ts',
    'src/failure-reasons.ts',
    'src/events/notification-types.ts',
    'src/host/streams.ts',
    'src/apis.ts',
    'src/http.ts',
    'src/json.ts',
    'src/json-strings.ts',
    'src/money.ts',
    'src/package-version.ts',
    'src/clock.ts',
    'src/random-ids.ts',
    'src/repeats.ts',
    'src/secret.ts',
    'src/charge-policy.ts',
  ],
  ['src/exact-numbers.ts', 'src/host/packages.ts', 'src/host/failures.ts'],
  ['src/failure-meanings.ts', 'src/bounded-json.ts'],
  ['src/ports/'],
  ['src/bytes/', 'src/canonical/', 'src/prices/'],
  [
    'src/call.ts',
    'src/events/events.ts',
    'src/events/members.ts',
    'src/events/usage.ts',
    'src/events/filter.ts',
    'src/events/emitter.ts',
    'src/events/thrown.ts',
    'src/issue-key.ts',
    'src/files/',
  ],
  ['src/host/warnings.ts'],
  ['src/dialects/'],
  ['src/platforms/'],
  ['src/protocols/'],
  ['src/catalog/'],
  ['src/upstream/', 'src/stores/'],
  ['src/gateway-options.ts'],
  ['src/plain-options.ts', 'src/options.ts'],
  ['src/stages/', 'src/events/log.ts'],
  ['src/gateway.ts', 'src/testing/'],
  [
    'src/index.ts',
    'src/ports.ts',
    'src/admin/',
    'src/notify/',
    'src/opentelemetry/',
    'src/prometheus/',
  ],
  ['adapters/', 'src/console/'],
  ['src/command/'],
];

/** Packages and the files that may import them; add a new one here and in package.json. */
const packages: Readonly<Record<string, (path: string) => boolean>> = {
  undici: (path) => path === 'src/upstream/undici-client.ts',
  '@opentelemetry/api': (path) => path.startsWith('src/opentelemetry/'),
  '@smithy/signature-v4': (path) => path === 'src/platforms/bedrock/sign.ts',
  zod: (path) => path.startsWith('src/') && !path.startsWith('src/console/page/'),
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

describe('layers', () => {
  it('every file belongs to one', () => {
    const withoutLayer = files.map(({ fileName }) => fileName).filter((path) => layerOf(path) < 0);

    expect(files.length).toBeGreaterThan(0);
    expect(withoutLayer).toEqual([]);
  });

  it('imports go to a lower layer or stay in the folder', () => {
    expect(edges.filter((edge) => !isAllowed(edge)).map(describeEdge)).toEqual([]);
  });

  it('imports form no cycle, type imports included', () => {
    expect(cycleIn(edges)).toEqual([]);
  });

  it('a cycle would be found', () => {
    const row = (from: string, to: string): Edge => ({ from, to, specifier: to, typeOnly: true });

    expect(cycleIn([row('a', 'b'), row('b', 'c'), row('c', 'b')])).toEqual(['b', 'c', 'b']);
  });

  /** `tollgate/fetch` also publishes the upstream client of runtimes without undici. */
  const importable = ['src/apis.ts', 'src/host/streams.ts', 'src/upstream/fetch-client.ts'];

  it('adapters import types from the source, and the values of few files', () => {
    const values = edges.filter(
      ({ from, to, typeOnly }) =>
        from.startsWith('adapters/') &&
        to?.startsWith('src/') &&
        !importable.includes(to) &&
        !typeOnly,
    );

    expect(values.map(describeEdge)).toEqual([]);
  });

  it('a package is imported only where it is allowed: undici by the upstream client alone', () => {
    const foreign = edges.filter(
      ({ from, to, specifier }) =>
        to === undefined && !specifier.startsWith('node:') && !packages[specifier]?.(from),
    );

    expect(foreign.map(describeEdge)).toEqual([]);
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

function layerOf(path: string): number {
  return layers.findIndex((layer) =>
    layer.some((name) => (name.endsWith('/') ? path.startsWith(name) : path === name)),
  );
}

function isAllowed({ from, to }: Edge): boolean {
  if (to === undefined) return true;
  const [fromLayer, toLayer] = [layerOf(from), layerOf(to)];
  return toLayer < fromLayer || (toLayer === fromLayer && folderOf(to) === folderOf(from));
}

/** The folder directly below `src`, or `src` itself for its own files. */
function folderOf(path: string): string {
  return path.split('/').slice(0, -1).slice(0, 2).join('/');
}

/** The files of one cycle in order, the first again at the end; empty if there is none. */
function cycleIn(all: readonly Edge[]): readonly string[] {
  const done = new Set<string>();

  function search(path: string, trail: readonly string[]): readonly string[] {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return [];
    for (const { to } of all.filter(({ from }) => from === path)) {
      const cycle = to === undefined ? [] : search(to, [...trail, path]);
      if (cycle.length > 0) return cycle;
    }
    done.add(path);
    return [];
  }

  for (const { from } of all) {
    const cycle = search(from, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
}

function describeEdge({ from, specifier }: Edge): string {
  return `${from} imports ${specifier}`;
}
