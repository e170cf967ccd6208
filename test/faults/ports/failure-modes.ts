/** The ways in which a host's code can fail: throwing, rejecting, never answering. */
import { EventEmitter } from 'node:events';
import { untyped } from '../../stages/ports/failing.ts';
import { canaries } from '../canaries.ts';

/** One way to fail; types would forbid half of them. */
export interface FailureMode {
  readonly how: string;
  /** Fails before it returns, as a function without a promise can. */
  readonly isSynchronous: boolean;
  readonly fail: () => never;
}

/** The error of a driver for a failed connection, with every secret. */
function failure(): Error {
  const { upstreamKey, prompt, base64 } = canaries;
  return new Error(`ECONNREFUSED caller-secret ${upstreamKey} ${prompt} ${base64}`);
}

/** An error whose name and message throw when they are read. */
function unreadable(): Error {
  const error = failure();
  const throwing = {
    get: (): never => {
      throw failure();
    },
  };
  return Object.defineProperties(error, { name: throwing, message: throwing });
}

/** Every way in which a store, a hook or a driver may fail. */
export const failureModes: readonly FailureMode[] = [
  throwing('throws', failure),
  throwing('throws a string', () => `down: ${canaries.prompt}`),
  throwing('throws nothing', () => undefined),
  throwing('throws an unreadable error', unreadable),
  {
    how: 'emits an error without a listener',
    isSynchronous: true,
    fail: () => {
      new EventEmitter().emit('error', failure());
      throw failure();
    },
  },
  answering('rejects', rejected(failure())),
  answering('rejects with a string', rejected(canaries.prompt)),
  answering('rejects with nothing', rejected(undefined)),
  answering('rejects with an unreadable error', rejected(unreadable())),
  answering('never answers', new Promise(() => {})),
  answering('returns a thenable that throws', Object.fromEntries([['then', thrower(failure)]])),
];

function throwing(how: string, what: () => unknown): FailureMode {
  return { how, isSynchronous: true, fail: thrower(what) };
}

function thrower(what: () => unknown): () => never {
  return () => {
    throw what();
  };
}

function answering(how: string, answer: unknown): FailureMode {
  return { how, isSynchronous: false, fail: untyped(answer) };
}

/** A rejected promise that causes no unhandled rejection if the gateway ignores it. */
function rejected(reason: unknown): Promise<never> {
  const promise = Promise.reject(reason);
  promise.catch(() => {});
  return promise;
}
