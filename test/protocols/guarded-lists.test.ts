// suite: quick
/**
 * Some servers accept one object in place of a list, a list in place of an object, and lists inside
 * lists. Guarded members and references count in all of these alike.
 */
import { describe, expect, it } from 'vitest';
import { wholeBody } from '../../src/bytes/body/body.ts';
import { scanBody } from '../../src/bytes/json/scan/body.ts';
import { measureNative } from '../../src/dialects/gemini/prompt-size.ts';
import { measureChat } from '../../src/dialects/openai/prompt-size.ts';
import { guardedUses } from '../../src/protocols/find-guarded.ts';
import { guardedRows } from '../../src/protocols/guarded-members.ts';

type Shape = (value: unknown) => unknown;

const shapes: Readonly<Record<string, Shape>> = {
  object: (value) => value,
  list: (value) => [value],
  'second in a list': (value) => [{ type: 'function' }, null, 'text', value],
  'list in a list': (value) => [[value]],
  'second list in lists': (value) => [[[]], [{}, [value]]],
};
const shapeNames = Object.keys(shapes);

function shaped(shape: string, value: unknown): unknown {
  return shapes[shape]?.(value);
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The body with `leaf` at a path; every object on the way has the shape. */
function planted(path: readonly string[], shape: string, leaf: unknown): Record<string, unknown> {
  const [name = '', ...rest] = path;
  if (rest.length === 0) return { [name]: leaf };
  return { [name]: shaped(shape, planted(rest, shape, leaf)) };
}

function rowsIn(body: object): readonly string[] {
  const scanned = scanBody(wholeBody(Buffer.from(JSON.stringify(body))));
  return guardedUses(scanned, []).map(({ row }) => row);
}

const places = guardedRows.flatMap(({ row, places: paths = [], effective }) =>
  paths.map((path) => [row, path.replaceAll('[]', '').split('.'), effective] as const),
);
const leaves = ['other', { a: 1 }, [{ a: 1 }], [[{ a: 1 }]]];
const types = guardedRows.flatMap(({ row, toolTypes = [] }) =>
  toolTypes.map((type) => [row, type] as const),
);

describe.each(shapeNames)('as %s', (shape) => {
  it.each(places)('a member of %s is found: %j', (row, path, effective) => {
    for (const spelled of [path, path.map(camel)]) {
      for (const leaf of effective ?? leaves) {
        expect(rowsIn(planted(spelled, shape, leaf)), JSON.stringify(leaf)).toEqual([row]);
        for (const extra of ['extra_body', 'extraBody']) {
          const body = { [extra]: shaped(shape, planted(spelled, shape, leaf)) };
          expect(rowsIn(body)).toEqual([row]);
        }
      }
    }
  });

  it.each(types)('a tool of %s is found by its type: %s', (row, type) => {
    const spellings = [
      type,
      camel(type),
      type.toUpperCase(),
      type.replaceAll('_', '-'),
      type.replaceAll('_', ' '),
      `$${type}`,
      `${type}_20250305`,
      `openrouter:${type}`,
      `some-server:${type}`,
    ];
    for (const one of spellings) {
      expect(rowsIn({ tools: shaped(shape, { type: one }) }), one).toEqual([row]);
      const builtin = { type: 'builtin_function', function: { name: one } };
      expect(rowsIn({ tools: shaped(shape, builtin) }), `built-in ${one}`).toEqual([row]);
    }
  });

  it('a built-in function of an unknown name counts as a search', () => {
    for (const type of ['builtin_function', 'builtinFunction', 'builtin-function', 'built_in']) {
      for (const inside of [{}, { function: 'x' }, { function: { name: '$new' } }]) {
        expect(rowsIn({ tools: shaped(shape, { type, ...inside }) })).toEqual(['web_search']);
      }
    }
  });

  it('functions are not guarded', () => {
    const tool = {
      type: 'function',
      function: { name: '$web_search', parameters: { type: 'mcp' } },
    };
    expect(rowsIn({ tools: shaped(shape, tool) })).toEqual([]);
    const native = { functionDeclarations: [{ name: 'googleSearch' }], googleSearch: null };
    expect(rowsIn({ tools: shaped(shape, native) })).toEqual([]);
  });

  it('only the search of xAI is off with `mode: "off"`', () => {
    const off = { mode: 'off' };
    expect(rowsIn({ search_parameters: off })).toEqual([]);
    expect(rowsIn({ tools: shaped(shape, { mcpServers: off }) })).toEqual(['mcp']);
    expect(rowsIn({ tools: shaped(shape, { googleSearch: off }) })).toEqual(['web_search']);
  });
});

/** The media of a body of either protocol, without their paths. */
function mediaIn(body: Record<string, unknown>): readonly unknown[] {
  const tape = scanBody(wholeBody(Buffer.from(JSON.stringify(body))));
  const measured = 'contents' in body ? measureNative(tape) : measureChat(tape);
  return measured.size.media.map(({ at: _at, ...media }) => media);
}

const reference = { kind: 'reference', bytes: 0 };
const fileId = { ...reference, isFileId: true };
const video = { fileData: { mimeType: 'video/mp4', fileUri: 'https://www.youtube.com/watch?v=x' } };
const file = { type: 'file', file: { file_id: 'file-1' } };

function turn(message: object): Record<string, unknown> {
  return { messages: [{ role: 'user', ...message }] };
}

describe.each(shapeNames)('a reference as %s', (shape) => {
  it.each([
    ['in parts', (one: Shape) => ({ contents: [{ parts: one(video) }] })],
    [
      'in a function response',
      (one: Shape) => ({ contents: [{ parts: one({ functionResponse: { parts: one(video) } }) }] }),
    ],
    [
      'in the instruction',
      (one: Shape) => ({ contents: [], systemInstruction: one({ parts: one(video) }) }),
    ],
    [
      'as fileData',
      (one: Shape) => ({ contents: [{ parts: [{ fileData: one(video.fileData) }] }] }),
    ],
  ])('%s of native contents counts', (_name, bodyOf) => {
    expect(mediaIn(bodyOf((value) => shaped(shape, value)))).toContainEqual(reference);
  });

  it.each([
    ['in the content', (one: Shape) => turn({ content: one(file) })],
    ['as `file`', (one: Shape) => turn({ content: [{ ...file, file: one(file.file) }] })],
    [
      'as `file` of a text',
      (one: Shape) => turn({ content: [{ type: 'text', file: one(file.file) }] }),
    ],
    ['as `file_id`', (one: Shape) => turn({ content: [{ type: 'x', file_id: one('file-1') }] })],
    ['in another member', (one: Shape) => turn({ content: 'a', quotes: one(file) })],
    ['in `attachments`', (one: Shape) => turn({ content: 'a', attachments: one(file) })],
  ])('%s of a message counts as a file of the account', (_name, bodyOf) => {
    expect(mediaIn(bodyOf((value) => shaped(shape, value)))).toContainEqual(fileId);
  });
});
