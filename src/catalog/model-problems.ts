/**
 * Finds everything that is wrong with a list of models: in the members of each, and between models
 * and channels. What depends on a wrong member is not checked.
 */

import { isDeepStrictEqual } from 'node:util';
import { apiCalls } from '../apis.ts';
import { upstreamPaths } from '../dialects/paths.ts';
import type { TokenPrice } from '../money.ts';
import type { DialectName } from '../ports/models/capabilities.ts';
import type { Channel, Model } from '../ports/models/catalog.ts';
import { isWildcard, type ListedModel } from '../ports/models/listed-model.ts';
import { protocolsOf, upstreamModelOf } from '../ports/models/model-defaults.ts';
import { formatPath, isWithin, type Path, type Problem } from '../ports/problems.ts';
import { setUpProblems } from '../ports/set-up.ts';
import { modelRemedyOf, modelSchema } from './model-schema.ts';
import { wildcardFor } from './wildcards.ts';

export interface ModelsPlace {
  /** The name of the list, with which the paths in sentences begin. Default: `models`. */
  readonly root?: string;
  /** Members below the list that are known to be wrong; they are not reported again. */
  readonly known?: readonly Path[];
}

/**
 * The problems of models of unknown origin, whose types may be wrong. Paths begin at the list, and
 * each sentence with the id of the model, if it has one.
 */
export function modelProblems(
  models: readonly ListedModel[],
  { root = 'models', known = [] }: ModelsPlace = {},
): readonly Problem[] {
  const all = models.map((model, index) => readModel(checkedForm(model), index, root, known));
  const byName = new Map<string, Reading>();
  const accounts = new Map<string, Channel>();
  for (const one of all) {
    checkNames(one, byName);
    checkWildcard(one);
    checkInputOnly(one);
    checkOutputPrice(one);
    checkChannels(one, accounts);
  }
  for (const one of all) checkFallbacks(one, byName);
  return all.flatMap(({ found }) => found);
}

/**
 * What a price function returns is checked when it is asked for a name. Until then it counts as a
 * price of text.
 */
function checkedForm(model: ListedModel): Model {
  return hasOwnPrice(model) ? model : { ...model, price: anyPrice };
}

function hasOwnPrice(model: ListedModel): model is Model {
  const { id, price } = model ?? {};
  return typeof price !== 'function' || typeof id !== 'string' || !isWildcard({ id });
}

const anyPrice: TokenPrice = { per: 'token', rates: { input: 1n, output: 1n } };

/** A model, some of whose members may be wrong: call `isRight` before reading one. */
interface Reading {
  readonly model: Model;
  isRight(...path: Path): boolean;
  readonly found: Problem[];
  /** Adds a problem: a sentence about the member, after its path. */
  report(path: Path, sentence: string): void;
}

function readModel(model: Model, index: number, root: string, known: readonly Path[]): Reading {
  // As JSON, because an invalid id may contain line breaks.
  const subject = typeof model?.id === 'string' ? `Model ${JSON.stringify(model.id)}: ` : '';
  const place = `${subject}${root}[${index}]`;
  const problems = setUpProblems(modelSchema, model, {
    root: place,
    remedyFor: (path) => modelRemedyOf(model, path),
    names: 'the types Model and Channel',
  });
  const reported = known.flatMap(([at, ...path]) => (at === index ? [path] : []));
  const wrong = [...reported, ...problems.map(({ path }) => path)];
  const found = problems
    .filter(({ path }) => !reported.some((one) => isWithin(path, one)))
    .map(({ path, sentence }) => ({ path: [index, ...path], sentence }));
  return {
    model,
    found,
    isRight: (...path) => !wrong.some((one) => isWithin(one, path) || isWithin(path, one)),
    report: (path, sentence) => {
      found.push({ path: [index, ...path], sentence: `${formatPath(place, path)}: ${sentence}` });
    },
  };
}

function checkNames(reading: Reading, byName: Map<string, Reading>): void {
  const { model, isRight, report } = reading;
  const take = (name: string, path: Path): void => {
    if (byName.has(name)) {
      report(
        path,
        `the id or alias "${name}" is taken. Ids and aliases of all models must be distinct.`,
      );
    }
    byName.set(name, reading);
  };
  if (isRight('id')) take(model.id, ['id']);
  if (!isRight('aliases')) return;
  for (const [index, alias] of (model.aliases ?? []).entries()) take(alias, ['aliases', index]);
}

function checkWildcard({ model, isRight, report }: Reading): void {
  if (!isRight('id') || !isRight('aliases')) return;
  const { aliases = [], channels } = model;
  if (aliases.some((alias) => isWildcard({ id: alias }) || isWildcard(model))) {
    const sentence = 'a wildcard has no aliases, and is none. List it as a model of its own.';
    report(['aliases'], sentence);
  }
  if (!isWildcard(model) || !isRight('channels')) return;
  for (const [index, channel] of channels.entries()) {
    if (upstreamModelOf(channel, model).split('*').length === 2) continue;
    const sentence = 'must have one * for the name of the model. Leave it out for the name alone.';
    report(['channels', index, 'upstreamModel'], sentence);
  }
}

function checkInputOnly({ model, isRight, report }: Reading): void {
  const problem = isRight() ? inputOnlyProblem(model) : undefined;
  if (problem !== undefined) report([problem.member], problem.problem);
}

interface InputOnlyProblem {
  readonly member: 'price' | 'fallbacks' | 'channels';
  readonly problem: string;
}

/**
 * What is wrong with a model whose calls have no output. Vectors of two models can't be compared,
 * and no reply shows which one made them.
 */
export function inputOnlyProblem(model: Model): InputOnlyProblem | undefined {
  const { price, channels, fallbacks = [], sameVectors = false } = model;
  const offered = protocolsOf(model);
  const inputOnly = offered.find((name) => apiCalls[name]?.operation.hasOutputTokens === false);
  if (inputOnly !== undefined && price.per === 'image') {
    return {
      member: 'price',
      problem: `calls of ${inputOnly} have no price per image. Give the model a price per token.`,
    };
  }
  if (sameVectors || !offered.includes('embeddings')) return undefined;
  if (fallbacks.length > 0) {
    return { member: 'fallbacks', problem: `a fallback ${otherVectors}` };
  }
  const upstreamModels = new Set(channels.map((channel) => upstreamModelOf(channel, model)));
  if (upstreamModels.size < 2) return undefined;
  const served = [...upstreamModels].join(' and ');
  return {
    member: 'channels',
    problem: `its channels serve ${served}, and another model ${otherVectors}`,
  };
}

const otherVectors =
  'makes different vectors, which would corrupt an index unnoticed. Use one upstream model, or ' +
  'state sameVectors: true if these are names of the same one.';

function checkOutputPrice({ model, isRight, report }: Reading): void {
  if (!isRight('price') || !isRight('protocols')) return;
  const problem = outputPriceProblem(model);
  if (problem !== undefined) report(['price', 'output'], `a model that writes text ${problem}`);
}

/** Output costs several times what input does, and would be charged as input. */
export function outputPriceProblem(model: Model): string | undefined {
  if (model.price.per !== 'token') return undefined;
  const { output, imageOutput } = model.price.rates;
  if ((output ?? imageOutput) !== undefined) return undefined;
  // A gateway with other protocols may know more names.
  const writes = protocolsOf(model).some((name) => apiCalls[name]?.operation.hasOutputTokens);
  return writes ? 'needs this rate. Add it, even if it is the same as that of input.' : undefined;
}

function checkChannels({ model, isRight, report }: Reading, accounts: Map<string, Channel>): void {
  if (!Array.isArray(model?.channels)) return;
  const ids = new Set<string>();
  for (const [index, channel] of model.channels.entries()) {
    const path = ['channels', index];
    if (!isRight(...path)) continue;
    const offered = isRight('protocols') && isRight('price') ? dialectProblem(model, channel) : '';
    if (offered !== '') report([...path, 'dialect'], offered);
    const url = channel.platform === undefined ? baseUrlProblem(channel) : undefined;
    if (url !== undefined) report([...path, 'baseUrl'], `channel "${channel.id}": ${url}`);
    if (ids.has(channel.id)) {
      report([...path, 'id'], 'two of its channels have the same id. Give each account its own.');
      continue;
    }
    ids.add(channel.id);
    checkAccount(channel, accounts, (member, sentence) => report([...path, member], sentence));
  }
}

function dialectProblem(model: Model, { id, dialect }: Channel): string {
  const offered = protocolsOf(model);
  const paths = upstreamPaths[dialect];
  if (offered.some((name) => paths[apiCalls[name].operation.name] !== undefined)) return '';
  return (
    `channel "${id}" of the dialect ${dialect} can't serve ${offered.join(' or ')}, ` +
    'which is all that the model offers. Change one of the two, or remove the channel.'
  );
}

/** A channel id names one upstream account: models that use it share its health and limits. */
function checkAccount(
  channel: Channel,
  accounts: Map<string, Channel>,
  report: (member: string, sentence: string) => void,
): void {
  const known = accounts.get(channel.id);
  if (known === undefined) accounts.set(channel.id, channel);
  for (const member of ['dialect', 'baseUrl', 'platform', 'credential'] as const) {
    if (known === undefined || isSame(known[member], channel[member])) continue;
    report(
      member,
      `channel "${channel.id}" has another ${member} than under another model. One id means one ` +
        'account: make them agree, or use two ids.',
    );
  }
}

/** Platforms are records, which two channels may write twice. */
function isSame(one: unknown, other: unknown): boolean {
  return one === other || (typeof one === 'object' && isDeepStrictEqual(one, other));
}

/** A fallback with a wrong id would be noticed only in an outage. */
function checkFallbacks(
  { model, isRight, report }: Reading,
  byName: ReadonlyMap<string, Reading>,
): void {
  if (!isRight('fallbacks')) return;
  for (const [index, id] of (model.fallbacks ?? []).entries()) {
    const path = ['fallbacks', index];
    const fallback = fallbackFor(id, byName);
    if (fallback === undefined || fallback.model === model) {
      report(
        path,
        `its fallback "${id}" is not the id of another model. Correct it, or remove it.`,
      );
      continue;
    }
    if (!isRight('price') || !fallback.isRight('price')) continue;
    if (model.price.per !== 'free' || fallback.model.price.per === 'free') continue;
    report(path, `its fallback "${id}" has a price. A free model falls back to free ones only.`);
  }
}

function fallbackFor(id: string, byName: ReadonlyMap<string, Reading>): Reading | undefined {
  if (!isWildcard({ id }) && byName.has(id)) return byName.get(id);
  const wildcards = [...byName.values()].map(({ model }) => model).filter(isWildcard);
  return byName.get(wildcardFor(id, wildcards)?.wildcard.id ?? '');
}

/** Base URLs of well-known providers, by host: everything that they serve is below a version. */
const knownBaseUrls: ReadonlyMap<string, string> = new Map(
  [
    ...['https://api.openai.com/v1', 'https://generativelanguage.googleapis.com/v1beta'],
    ...['https://api.anthropic.com/v1', 'https://api.mistral.ai/v1', 'https://api.x.ai/v1'],
    ...['https://api.groq.com/openai/v1', 'https://api.cerebras.ai/v1'],
    ...['https://openrouter.ai/api/v1'],
  ].map((url) => [new URL(url).host, url]),
);

/**
 * The mistakes of most first set-ups in a base URL that is valid: no API version, the path of a
 * call, another API of the same provider. The sentences do not repeat the URL.
 */
function baseUrlProblem({ baseUrl, dialect }: Channel): string | undefined {
  const { host, pathname } = new URL(baseUrl);
  const callPath = callPathAt(pathname.replace(/(?<!\/)\/+$/, ''), dialect);
  if (callPath !== undefined) {
    return `its baseUrl ends in ${callPath}, the path of a call. Remove it: the gateway adds it.`;
  }
  const google = googleProblem(host, pathname, dialect);
  if (google !== undefined) return google;
  if (/\/v\d/.test(pathname)) return undefined;
  const known = knownBaseUrls.get(host);
  if (known !== undefined) return `its baseUrl has no API version. Use ${known}.`;
  // `pathname` is a slash if there is no path, whether the URL ends in a slash or not.
  if (pathname !== '/' || baseUrl.endsWith('/')) return undefined;
  const version = dialect === 'gemini' ? 'v1beta' : 'v1';
  return (
    `its baseUrl has no API version. Most servers need one: add /${version}. ` +
    'If the paths of this server have none, end the URL with a slash.'
  );
}

/** Google serves its own API and an OpenAI-compatible one, below different paths of one host. */
function googleProblem(host: string, path: string, dialect: DialectName): string | undefined {
  const isCompatible = /\/v1(?:alpha|beta)?\/openai\/?$/.test(path);
  if (dialect === 'gemini' && isCompatible) {
    return (
      "its baseUrl ends in /openai, which is Google's OpenAI-compatible API. " +
      "Remove /openai, or use the dialect 'openai'."
    );
  }
  if (dialect !== 'openai' || host !== googleHost || isCompatible) return undefined;
  return `its baseUrl is that of another API. Use https://${googleHost}/v1beta/openai.`;
}

const googleHost = 'generativelanguage.googleapis.com';

/** The paths of calls below a base URL: `/chat/completions`, `/models/*:generateContent`. */
const callPaths: readonly string[] = Object.values(apiCalls).flatMap(({ paths, methods }) => [
  ...Object.keys(paths).map((path) => path.replace('/v1', '')),
  ...Object.keys(methods).map((method) => `/models/*:${method}`),
]);

/** The path of a call in which a path ends, with `*` for the model; undefined for a base path. */
function callPathAt(path: string, dialect: DialectName): string | undefined {
  const withoutModel = path.replace(/\/models\/[^/]+(?=:\w+$)/, '/models/*');
  const found = callPaths.find((one) => withoutModel.endsWith(one));
  if (found !== undefined || dialect !== 'gemini') return found;
  return path.endsWith('/models') ? '/models' : undefined;
}
