/** Resolves the secrets that a catalog file refers to by environment variable or by name. */
import type { Clock } from '../clock.ts';
import { ConfigurationError } from '../errors.ts';
import { isJsonObject, type JsonValue, member } from '../json.ts';
import type { MaybePromise } from '../ports/call-options.ts';
import type { Channel } from '../ports/models/catalog.ts';
import type { Platform } from '../ports/models/platform.ts';
import { within } from '../ports/within.ts';

export interface CredentialSources {
  readonly credentials: ((name: string) => MaybePromise<string>) | undefined;
  readonly allowSecretsInFile: boolean;
  readonly clock: Clock;
}

/**
 * Resolves a `credential` member of the file to its secret, or to the function that gets it.
 *
 * @throws ConfigurationError that names the member's path and says how to fix it. Of values, it
 *   repeats only the name of a variable: a secret written in its place must not reach a log.
 */
export type ReadCredential = (value: JsonValue, path: string) => Promise<Channel['credential']>;

/** Deadline for one name. While a vault is pending, no newer version of the file is read. */
const resolveMs = 10_000;

/** One reader per file version: each name is resolved once, so that all its channels agree. */
export function credentialReader(sources: CredentialSources): ReadCredential {
  const resolved = new Map<string, string>();
  const functions = new Map<string, Channel['credential']>();

  const ofCloud = async (reference: JsonValue, path: string): Promise<Channel['credential']> => {
    const text = JSON.stringify(reference);
    const { cloudCredential } = await import('./cloud-credentials.ts');
    const known = functions.get(text) ?? cloudCredential(reference, path);
    functions.set(text, known);
    return known;
  };

  const named = async (name: string, path: string): Promise<string> => {
    const known = resolved.get(name);
    if (known !== undefined) return known;
    const secret = await resolve(name, path, sources);
    resolved.set(name, secret);
    return secret;
  };

  return async (value, path) => {
    if (typeof value === 'string') {
      if (sources.allowSecretsInFile) return value;
      refuse(path, `is a secret. Write ${forms}. In code, options.allowSecretsInFile allows it`);
    }
    const env = member(value, 'env');
    const name = member(value, 'name');
    if (isName(env) && name === undefined) return fromEnvironment(env, path);
    if (isName(name) && env === undefined) return named(name, path);
    if (isCloudReference(value)) return await ofCloud(value, path);
    refuse(path, `must be ${forms}, or ${cloudForms}`);
  };
}

const inEnvironment = '{ "env": "NAME OF A VARIABLE" }';
/** By its name in a reference, the platform that a cloud's credential is for. */
const platforms: ReadonlyMap<string, Platform['name']> = new Map([
  ['aws', 'bedrock'],
  ['google', 'vertex'],
  ['azure', 'azure'],
]);
/** What a reference may say besides the cloud. */
const cloudOptions: ReadonlyMap<string, string> = new Map([
  ['aws', 'profile'],
  ['azure', 'scope'],
]);
const cloudForms = '{ "aws": {} }, { "google": "default" } or { "azure": "default" }';

/** The platform for which a reference to a cloud is; undefined for any other reference. */
export function cloudOf(reference: JsonValue | undefined): Platform['name'] | undefined {
  if (reference === undefined || !isCloudReference(reference)) return undefined;
  const [name = ''] = isJsonObject(reference) ? Object.keys(reference) : [];
  return platforms.get(name);
}

/** Whether a reference has the form of one to a cloud. */
export function isCloudReference(value: JsonValue): boolean {
  const [[name = '', options] = [], ...others] = isJsonObject(value) ? Object.entries(value) : [];
  if (others.length > 0 || !platforms.has(name)) return false;
  if (options === 'default') return name !== 'aws';
  const option = cloudOptions.get(name);
  if (option === undefined || options === undefined || !isJsonObject(options)) return false;
  const { [option]: text = '', ...unknown } = options;
  return Object.keys(unknown).length === 0 && typeof text === 'string';
}

const forms = `${inEnvironment} or { "name": "…" }`;

function fromEnvironment(variable: string, path: string): string {
  const secret = process.env[variable];
  if (secret !== undefined && secret !== '') return secret;
  const named = looksLikeVariable.test(variable) ? ` ${variable}, which` : ' a variable that';
  refuse(`${path}.env`, `names${named} is not set. Set it before the file is read`);
}

/** A secret that was written here by mistake does not look like this, and must not reach a log. */
const looksLikeVariable = /^[A-Z][A-Z0-9]{0,19}(?:_[A-Z0-9]{1,19}){1,5}$/;

async function resolve(
  name: string,
  path: string,
  { credentials, clock }: CredentialSources,
): Promise<string> {
  if (credentials === undefined) {
    const sentence = 'needs in code options.credentials, a function from names to secrets';
    refuse(`${path}.name`, `${sentence}. Else write ${inEnvironment}`);
  }
  try {
    // The type says string, but a host may be plain JavaScript.
    const secret: unknown = await within(callAsync(credentials, name), resolveMs, clock);
    if (typeof secret === 'string' && secret !== '') return secret;
  } catch (cause) {
    const sentence = 'was not resolved: options.credentials failed. See the cause';
    throw new ConfigurationError(`${path}.name ${sentence}.`, { cause });
  }
  refuse(
    `${path}.name`,
    'was not resolved: options.credentials returned no text. Add the name there',
  );
}

/** Turns a synchronous throw of the host's function into a rejection. */
async function callAsync(
  credentials: (name: string) => MaybePromise<string>,
  name: string,
): Promise<unknown> {
  return credentials(name);
}

function isName(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '';
}

function refuse(path: string, sentence: string): never {
  throw new ConfigurationError(`${path} ${sentence}.`);
}
