/**
 * The credentials of clouds that a catalog names without a secret, such as `{ "aws": {} }`: the
 * cloud's own library finds them where the process runs. The libraries are the host's packages.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ConfigurationError } from '../errors.ts';
import { isJsonObject, type JsonValue, member } from '../json.ts';
import type { Channel, CredentialAnswer } from '../ports/catalog.ts';

/** The forms in a file, for the text of an error. */
export const cloudForms = '{ "aws": {} }, { "google": "default" } or { "azure": "default" }';

interface Cloud {
  readonly packageName: string;
  /** Undefined if the installed package has no such exports. */
  provider(library: unknown, options: JsonValue): (() => unknown) | undefined;
}

const clouds: Readonly<Record<string, Cloud>> = {
  aws: {
    packageName: '@aws-sdk/credential-providers',
    provider: (library, options) => {
      const profile = member(options, 'profile');
      const chain = called(
        library,
        'fromNodeProviderChain',
        profile === undefined ? {} : { profile },
      );
      return typeof chain === 'function' ? () => Reflect.apply(chain, undefined, []) : undefined;
    },
  },
  google: {
    packageName: 'google-auth-library',
    provider: (library) => {
      const scopes = 'https://www.googleapis.com/auth/cloud-platform';
      const auth = constructed(library, 'GoogleAuth', { scopes });
      return auth && (async () => ({ token: await called(auth, 'getAccessToken') }));
    },
  },
  azure: {
    packageName: '@azure/identity',
    provider: (library) => {
      const identity = constructed(library, 'DefaultAzureCredential');
      const scope = 'https://cognitiveservices.azure.com/.default';
      return identity && (() => called(identity, 'getToken', scope));
    },
  },
};

/** Whether a reference has the form of one to a cloud. */
export function isCloudReference(value: JsonValue): boolean {
  const [[name = '', options] = [], ...others] = isJsonObject(value) ? Object.entries(value) : [];
  if (others.length > 0 || !Object.hasOwn(clouds, name)) return false;
  if (name !== 'aws') return options === 'default';
  if (options === undefined || !isJsonObject(options)) return false;
  const { profile, ...unknown } = options;
  return Object.keys(unknown).length === 0 && (profile ?? '') === String(profile ?? '');
}

/**
 * The function that returns the credential of such a reference.
 *
 * @throws ConfigurationError that names the package that is not installed
 */
export function cloudCredential(reference: JsonValue, path: string): Channel['credential'] {
  const [[name = '', options = null] = []] = isJsonObject(reference)
    ? Object.entries(reference)
    : [];
  const cloud = clouds[name];
  if (cloud === undefined) throw new ConfigurationError(`${path} must be ${cloudForms}.`);
  const { packageName } = cloud;
  const provider = cloud.provider(required(packageName, path), options);
  if (provider === undefined) {
    throw new ConfigurationError(`${path} needs a newer version of ${packageName}. Update it.`);
  }
  return async () => answerOf(await provider());
}

/** Looked for in the host's project: it is no dependency of ours. */
function required(packageName: string, path: string): unknown {
  try {
    return createRequire(join(process.cwd(), 'package.json'))(packageName);
  } catch (cause) {
    const sentence = `${path} needs the package ${packageName}. Run: npm install ${packageName}`;
    throw new ConfigurationError(`${sentence}.`, { cause });
  }
}

function constructed(
  library: unknown,
  name: string,
  ...args: readonly unknown[]
): object | undefined {
  const made = propertyOf(library, name);
  if (typeof made !== 'function') return undefined;
  const instance: unknown = Reflect.construct(made, args);
  return typeof instance === 'object' && instance !== null ? instance : undefined;
}

function called(owner: unknown, name: string, ...args: readonly unknown[]): unknown {
  const method = propertyOf(owner, name);
  return typeof method === 'function' ? Reflect.apply(method, owner, args) : undefined;
}

function propertyOf(owner: unknown, name: string): unknown {
  return typeof owner === 'object' && owner !== null ? Reflect.get(owner, name) : undefined;
}

/** Only its kind is checked here: the rest is checked as that of a host's function. */
function answerOf(answer: unknown): Exclude<CredentialAnswer, string | null | undefined> {
  if (isAnswer(answer)) return answer;
  throw new TypeError('the library of the cloud returned no credential');
}

function isAnswer(answer: unknown): answer is Exclude<CredentialAnswer, string | null | undefined> {
  return typeof answer === 'object' && answer !== null;
}
