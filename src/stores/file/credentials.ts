/** The secrets a catalog's file refers to: by a variable's name, or by one the host resolves. */
import type { Clock } from '../../clock.ts';
import { ConfigurationError } from '../../errors.ts';
import { type JsonValue, member } from '../../json.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import { within } from '../../ports/within.ts';

/** How secrets are found. */
export interface CredentialSources {
  readonly credentials: ((name: string) => MaybePromise<string>) | undefined;
  readonly allowSecretsInFile: boolean;
  readonly clock: Clock;
}

/**
 * The secret that stands for a `credential` of the file at a place in it.
 *
 * @throws ConfigurationError that names the place and the cure. It echoes nothing of the value:
 *   whoever writes a secret where a name belongs must not read it in a log.
 */
export type ReadCredential = (value: JsonValue, place: string) => Promise<string>;

/** A vault may take its time, but not for ever: until it answers no other version is read. */
const resolveMs = 10_000;

/** One reader a version of the file: each name is asked for once, so that accounts agree. */
export function credentialReader(sources: CredentialSources): ReadCredential {
  const resolved = new Map<string, string>();

  const named = async (name: string, place: string): Promise<string> => {
    const known = resolved.get(name);
    if (known !== undefined) return known;
    const secret = await resolve(name, place, sources);
    resolved.set(name, secret);
    return secret;
  };

  return async (value, place) => {
    if (typeof value === 'string') {
      if (sources.allowSecretsInFile) return value;
      refuse(place, `is a secret. Write ${forms}, or set options.allowSecretsInFile`);
    }
    const env = member(value, 'env');
    const name = member(value, 'name');
    if (isName(env) && name === undefined) return fromEnvironment(env, place);
    if (isName(name) && env === undefined) return named(name, place);
    refuse(place, `must be ${forms}`);
  };
}

const forms = '{ "env": "NAME OF A VARIABLE" } or { "name": "…" }';

function fromEnvironment(variable: string, place: string): string {
  const secret = process.env[variable];
  if (secret !== undefined && secret !== '') return secret;
  refuse(`${place}.env`, 'names a variable that is not set. Set it before the file is read');
}

async function resolve(
  name: string,
  place: string,
  { credentials, clock }: CredentialSources,
): Promise<string> {
  if (credentials === undefined) {
    refuse(`${place}.name`, 'needs options.credentials. Give a function from names to secrets');
  }
  try {
    // Its type promises text; a host's JavaScript does not.
    const secret: unknown = await within(askAsync(credentials, name), resolveMs, clock);
    if (typeof secret === 'string' && secret !== '') return secret;
  } catch (cause) {
    const sentence = 'was not resolved: options.credentials failed. See to what it asks';
    throw new ConfigurationError(`${place}.name ${sentence}.`, { cause });
  }
  refuse(
    `${place}.name`,
    'was not resolved: options.credentials gave no text. Make it known there',
  );
}

/** What it throws at once becomes a rejection too. */
async function askAsync(
  credentials: (name: string) => MaybePromise<string>,
  name: string,
): Promise<unknown> {
  return credentials(name);
}

function isName(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '';
}

function refuse(place: string, sentence: string): never {
  throw new ConfigurationError(`${place} ${sentence}.`);
}
