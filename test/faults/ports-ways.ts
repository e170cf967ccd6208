/** The ways in which a host's code fails: what it throws, rejects with, or never answers. */
import { EventEmitter } from 'node:events';
import { mad } from '../stages/failing.ts';
import { canaries } from './canaries.ts';

/** One way to fail. No type would allow half of them. */
export interface Way {
  readonly how: string;
  /** Fails before it returns: all that a function without a promise can do. */
  readonly isSynchronous: boolean;
  readonly fail: () => never;
}

/** What a driver would say of a connection that failed, with all that nobody may learn. */
function failure(): Error {
  const { upstreamKey, prompt, base64 } = canaries;
  return new Error(`ECONNREFUSED caller-secret ${upstreamKey} ${prompt} ${base64}`);
}

/** Its name and its message throw. */
function unreadable(): Error {
  const error = failure();
  const throwing = {
    get: (): never => {
      throw failure();
    },
  };
  return Object.defineProperties(error, { name: throwing, message: throwing });
}

/** In every way that a store, a hook or a driver has been seen to fail, and some that will be. */
export const ways: readonly Way[] = [
  throwing('throws', failure),
  throwing('throws a text', () => `down: ${canaries.prompt}`),
  throwing('throws nothing', () => undefined),
  throwing('throws what cannot be read', unreadable),
  {
    how: 'emits an error that nobody hears',
    isSynchronous: true,
    fail: () => {
      new EventEmitter().emit('error', failure());
      throw failure();
    },
  },
  answering('rejects', rejected(failure())),
  answering('rejects with a text', rejected(canaries.prompt)),
  answering('rejects with nothing', rejected(undefined)),
  answering('rejects with what cannot be read', rejected(unreadable())),
  answering('never answers', new Promise(() => {})),
  answering('answers a promise that throws', Object.fromEntries([['then', thrower(failure)]])),
];

function throwing(how: string, what: () => unknown): Way {
  return { how, isSynchronous: true, fail: thrower(what) };
}

function thrower(what: () => unknown): () => never {
  return () => {
    throw what();
  };
}

function answering(how: string, answer: unknown): Way {
  return { how, isSynchronous: false, fail: mad(answer) };
}

/** Whoever awaits it is rejected; that nobody may is what is tested, and no warning of Node's. */
function rejected(reason: unknown): Promise<never> {
  const promise = Promise.reject(reason);
  promise.catch(() => {});
  return promise;
}
