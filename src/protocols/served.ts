/** Names the requests that the gateway serves, for error messages; taken from the table. */
import type { Protocol } from './protocol.ts';

/**
 * The requests that call models of these protocols: `POST /v1/chat/completions or POST
 * /v1beta/models/{model}:generateContent`; empty if there is no protocol.
 */
export function callRequests(rows: readonly Protocol[]): string {
  return rows.map(callRequest).filter(isFilled).join(' or ');
}

/** All requests that these protocols and the model lists of their clients serve. */
export function servedRequests(rows: readonly Protocol[]): string {
  const calls = rows.flatMap(({ paths, storedReplies }) => [
    ...Object.keys(paths).map((path) => `POST ${path}`),
    ...(storedReplies === undefined ? [] : [`GET ${storedReplies.folder}/{id}`]),
  ]);
  const methods = namesOfMethods(rows).map((name, index) =>
    index === 0 ? methodRequest(name) : `:${name}`,
  );
  const lists = new Set(rows.map(({ caller }) => caller.models.request));
  return listed([...calls, ...methods, ...lists], 'and');
}

/** The methods that may follow a model's name: `generateContent or countTokens`. */
export function methodNames(rows: readonly Protocol[]): string {
  return listed(namesOfMethods(rows), 'or');
}

function namesOfMethods(rows: readonly Protocol[]): readonly string[] {
  return rows.flatMap(({ methods }) => Object.keys(methods));
}

function callRequest({ paths, methods }: Protocol): string {
  const [path] = Object.keys(paths);
  if (path !== undefined) return `POST ${path}`;
  const [method] = Object.keys(methods);
  return method === undefined ? '' : methodRequest(method);
}

function methodRequest(name: string): string {
  return `POST /v1beta/models/{model}:${name}`;
}

function listed(names: readonly string[], conjunction: 'and' | 'or'): string {
  const last = names.at(-1) ?? '';
  const others = names.slice(0, -1).join(', ');
  return others === '' ? last : `${others} ${conjunction} ${last}`;
}

function isFilled(text: string): boolean {
  return text !== '';
}
