/**
 * The credentials of clouds that a catalog names without a secret, such as `{ "aws": {} }`: the
 * cloud's own library finds them where the process runs. The libraries are the host's packages.
 */
import { ConfigurationError } from '../errors.ts';
import { called, constructed, hostPackage } from '../host/packages.ts';
import { isJsonObject, type JsonValue, member } from '../json.ts';
import type { Channel, CredentialAnswer } from '../ports/models/catalog.ts';

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
    provider: (library, options) => {
      const identity = constructed(library, 'DefaultAzureCredential');
      const scope = member(options, 'scope') ?? 'https://cognitiveservices.azure.com/.default';
      return identity && (() => called(identity, 'getToken', scope));
    },
  },
};

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
  if (cloud === undefined) throw new ConfigurationError(`${path} names no cloud.`);
  const { packageName } = cloud;
  const provider = cloud.provider(hostPackage(packageName, path), options);
  if (provider === undefined) {
    throw new ConfigurationError(`${path} needs a newer version of ${packageName}. Update it.`);
  }
  return async () => answerOf(await provider());
}

/** Only its kind is checked here: the rest is checked as that of a host's function. */
function answerOf(answer: unknown): Exclude<CredentialAnswer, string | null | undefined> {
  if (isAnswer(answer)) return answer;
  throw new TypeError('the library of the cloud returned no credential');
}

function isAnswer(answer: unknown): answer is Exclude<CredentialAnswer, string | null | undefined> {
  return typeof answer === 'object' && answer !== null;
}
