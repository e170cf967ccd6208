/** The files of `deploy`, read and parsed; and the objects that `kubectl apply -k` would create. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { isJsonObject, items, type JsonValue, member } from '../../src/json.ts';

/** The text of a file of the repo. */
export function readText(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}

/** The text of a file of `deploy`. */
export function readDeployed(path: string): string {
  return readText(`deploy/${path}`);
}

export const page: string = readText('docs/deploying.md');

/** The first block of code of the page in this language. */
export function blockOf(language: string): string {
  const [, text] = new RegExp(`\`\`\`${language}\n([^]+?)\n\`\`\``).exec(page) ?? [];
  if (text === undefined) throw new Error(`docs/deploying.md has no block of ${language}`);
  return text;
}

/**
 * The content of a YAML text. kubectl reads YAML 1.1, in which `yes` and `1e3` differ from 1.2.
 *
 * @throws if the two versions, or two readers of one name, could differ
 */
export function yaml(text: string): JsonValue {
  const value: JsonValue = parse(text, { version: '1.2', uniqueKeys: true });
  const old: JsonValue = parse(text, { version: '1.1', uniqueKeys: true });
  if (JSON.stringify(old) !== JSON.stringify(value)) throw new Error('YAML 1.1 reads it otherwise');
  return value;
}

/** The value at a path of members and indices; undefined if there is none. */
export function at(
  value: JsonValue | undefined,
  ...path: readonly string[]
): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(
    (found, name) => (Array.isArray(found) ? items(found)[Number(name)] : member(found, name)),
    value,
  );
}

/** The items at a path; none if there is no list. */
export function listAt(value: JsonValue | undefined, ...path: readonly string[]) {
  const found = at(value, ...path);
  return Array.isArray(found) ? items(found) : [];
}

/** The names and texts of an object. */
export function textsAt(value: JsonValue | undefined, ...path: readonly string[]) {
  const found = at(value, ...path);
  return new Map(
    Object.entries(isJsonObject(found) ? found : {}).map(([name, text]) => [name, String(text)]),
  );
}

export const kustomization: JsonValue = yaml(readDeployed('kubernetes/kustomization.yaml'));

/** The objects in the files, and the ConfigMaps of the generator without the digest in a name. */
export const objects: readonly JsonValue[] = [
  ...listAt(kustomization, 'resources').map((file) => yaml(readDeployed(`kubernetes/${file}`))),
  ...listAt(kustomization, 'configMapGenerator').map((generator) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: at(generator, 'name') ?? null },
    data: Object.fromEntries(
      listAt(generator, 'files').map((file) => [
        String(file),
        readDeployed(`kubernetes/${String(file)}`),
      ]),
    ),
  })),
];

/** @throws if there is not exactly one object of this kind */
export function objectOf(kind: string): JsonValue {
  const [found, ...others] = objects.filter((one) => at(one, 'kind') === kind);
  if (found === undefined || others.length > 0) throw new Error(`not one ${kind}`);
  return found;
}
