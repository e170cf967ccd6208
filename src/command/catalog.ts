/** `tollgate catalog …`: publishes, compares and restores versions of a catalog in a database. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { AdminCatalogs } from '../admin/catalog/catalog.ts';
import { given as stated } from '../admin/deps.ts';
import type { CatalogDifference } from '../catalog/catalog-diff.ts';
import type { CatalogVersion } from '../catalog/catalog-versions.ts';
import { modelsIn } from '../catalog/json-file-catalog.ts';
import { ConfigurationError, isConfigurationError } from '../errors.ts';
import { thrownCode } from '../events/thrown.ts';
import { type JsonValue, member, parseJson } from '../json.ts';
import {
  type Command,
  CommandError,
  configOption,
  exitCodes,
  type Given,
  usageError,
} from './command.ts';
import { printJson, table } from './output.ts';
import { skipSecretsOption, withCatalog } from './stores/with-catalog.ts';
import { actorOf, actorOption } from './stores/with-stores.ts';

interface CatalogFile {
  readonly models: readonly JsonValue[];
  /** The version that the file was made from, as `catalog show` writes it. */
  readonly version: number | undefined;
}

/** @throws CommandError, ConfigurationError that says where the text is wrong */
async function fileOf({ around, positionals: [name] }: Given): Promise<CatalogFile> {
  if (name === undefined) throw usageError('FILE is missing: name a file { "models": [ … ] }.');
  const path = resolve(around.cwd, name);
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    const message = `${name} can't be read (${thrownCode(error)}). Name a file of models.`;
    throw new CommandError(exitCodes.usage, message, error);
  }
  try {
    const models = modelsIn(bytes, ['version']);
    const version = member(parseJson(bytes.toString()), 'version');
    if (version === undefined) return { models, version };
    if (typeof version === 'number' && Number.isSafeInteger(version)) return { models, version };
    throw new ConfigurationError('"version" must be a number. Leave it out to replace the newest.');
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    throw new ConfigurationError(`${name}: ${error.message}`);
  }
}

function versionIn({ positionals: [text] }: Given): number {
  if (text !== undefined && /^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw usageError('VERSION is missing: give the number of a version. "catalog history" has them.');
}

const publish: Command = {
  name: 'catalog publish',
  summary: 'publish the models of a file',
  positionals: 'FILE',
  options: {
    note: { value: 'TEXT', text: 'why, for the history' },
    'skip-secrets': skipSecretsOption,
    actor: actorOption,
    config: configOption,
  },
  about: `Checks a file { "models": [ … ] } (docs/catalog.md), prints what it changes, and publishes
it as a new version, which running gateways serve within 2 s. All mistakes are named, and nothing
is published then. A file of "catalog show" has the version that it was made from, and is refused
if another one was published since.`,
  examples: [
    'npx tollgate catalog show > models.json',
    'npx tollgate catalog publish models.json --note "prices of December"',
  ],
  run: async (given) => {
    const file = await fileOf(given);
    return withCatalog(given, async (catalog) => {
      const diff = await catalog.diffWith(file.models);
      const after = file.version ?? diff.from;
      // Before the conflict is reported, to show what the other version has changed.
      if (!given.json) printComparison(given, diff);
      if (diff.differences.length === 0 && after === diff.from && diff.from > 0) {
        if (given.json) printJson(given.around, { published: false, version: diff.from });
        return;
      }
      const options = { after, ...stated({ note: given.text('note') }) };
      const version = await catalog.publishJson(actorOf(given), file.models, options);
      printVersion(given, version);
    });
  },
};

const diff: Command = {
  name: 'catalog diff',
  summary: 'print what a file, or the newest version, changes',
  positionals: '[FILE]',
  options: {
    from: { value: 'VERSION', text: 'compare this version; default: the one before' },
    to: { value: 'VERSION', text: 'with this one; default: the newest' },
    config: configOption,
  },
  about: `With a file: what publishing it would change in the newest version. Without: what the
newest version changed, or how two versions differ. Headers are not shown, and of URLs only
the origin.`,
  examples: ['npx tollgate catalog diff models.json', 'npx tollgate catalog diff --from 1 --to 2'],
  run: async (given) => {
    const [name] = given.positionals;
    const range = stated({ from: numberIn(given, 'from'), to: numberIn(given, 'to') });
    const file = name === undefined ? undefined : await fileOf(given);
    if (file !== undefined && Object.keys(range).length > 0) {
      throw usageError('Give either a FILE, or --from and --to.');
    }
    return withCatalog(given, async (catalog) => {
      if (file === undefined) return printComparison(given, await catalog.diff(range));
      const check = await catalog.validate(file.models);
      if (!check.valid) throw new ConfigurationError(check.problem);
      printComparison(given, await catalog.diffWith(file.models));
    });
  },
};

function printComparison(given: Given, found: Awaited<ReturnType<AdminCatalogs['diff']>>): void {
  if (given.json) return printJson(given.around, found);
  given.around.out(diffText(found.differences, `Nothing differs from version ${found.from}.`));
}

const history: Command = {
  name: 'catalog history',
  summary: 'list the versions: who published what, and when',
  options: { config: configOption },
  about: `Lists the latest 100 versions of a catalog in a database, the newest first: those of
"catalog publish" and "rollback", of the console and of the library. --json has every change.`,
  examples: ['npx tollgate catalog history'],
  run: (given) =>
    withCatalog(given, async (catalog) => {
      const versions = await catalog.history();
      if (given.json) return printJson(given.around, { data: versions });
      given.around.out(
        table(
          [' VERSION', 'TIME', 'ACTOR', 'CHANGES', 'NOTE'],
          versions.map((version) => [
            String(version.version),
            new Date(version.atMs).toISOString().slice(0, 19),
            version.actor ?? '-',
            changesText(version),
            version.note ?? '',
          ]),
          'Nothing has been published. npx tollgate catalog publish FILE does.',
        ),
      );
    }),
};

const show: Command = {
  name: 'catalog show',
  summary: 'print the models of a version',
  positionals: '[VERSION]',
  options: { config: configOption },
  about: `Prints { "version": …, "models": [ … ] }, by default of the newest version, in the form
that "catalog publish" takes. It has references to secrets, and the headers of channels.`,
  examples: ['npx tollgate catalog show > models.json', 'npx tollgate catalog show 1'],
  run: (given) =>
    withCatalog(given, async (catalog) => {
      const wanted = given.positionals.length === 0 ? undefined : versionIn(given);
      printJson(given.around, await catalog.read(wanted));
    }),
};

const rollback: Command = {
  name: 'catalog rollback',
  summary: 'publish an old version again',
  positionals: 'VERSION',
  options: {
    note: { value: 'TEXT', text: 'why, for the history; default: rollback to version N' },
    'skip-secrets': skipSecretsOption,
    actor: actorOption,
    config: configOption,
  },
  about: `Publishes the models of an old version as a new one, after checking them as "catalog
publish" does, and prints what that changes. The versions in between are kept.`,
  examples: ['npx tollgate catalog rollback 1 --note "the prices were wrong"'],
  run: (given) => {
    const wanted = versionIn(given);
    return withCatalog(given, async (catalog) => {
      const { models } = await catalog.read(wanted);
      const found = await catalog.diffWith(models);
      if (!given.json) printComparison(given, found);
      const options = { after: found.from, ...stated({ note: given.text('note') }) };
      printVersion(given, await catalog.rollback(actorOf(given), wanted, options));
    });
  },
};

function numberIn(given: Given, option: string): number | undefined {
  const text = given.text(option);
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw usageError(`--${option} must be the number of a version.`);
}

function printVersion({ around, json }: Given, version: CatalogVersion): void {
  if (json) return printJson(around, { published: true, ...version });
  around.out(`Published version ${version.version}. Gateways serve it within 2 s.\n`);
}

/** `+` added, `-` removed, `~` changed. */
function diffText(differences: readonly CatalogDifference[], none: string): string {
  return table(
    ['', 'MODEL', 'MEMBER', 'BEFORE', 'AFTER'],
    differences.map(({ modelId, member: name, before, after }) => [
      before === undefined ? '+' : after === undefined ? '-' : '~',
      ...[modelId, name, before ?? '', after ?? ''],
    ]),
    none,
  );
}

/** `gpt-5 price.input 0.15 → 0.2, and 3 more`. */
function changesText({ changes, moreChanges }: CatalogVersion): string {
  if (changes === undefined) return '(not recorded)';
  const [first, ...others] = changes;
  if (first === undefined) return 'none';
  const { modelId, member: name, before, after } = first;
  const text =
    name === '' || before === undefined || after === undefined
      ? `${modelId} ${name === '' ? '' : `${name} `}${before === undefined ? 'added' : 'removed'}`
      : `${modelId} ${name} ${before} → ${after}`;
  const more = others.length + moreChanges;
  return more === 0 ? text : `${text}, and ${more} more`;
}

export const catalogCommands: readonly Command[] = [publish, diff, history, show, rollback];
