/** A resolver for the names of the fault matrix; other names use the real one. */
import dns from 'node:dns';

/** The answers for names under `.fault.example`. */
const answers: Readonly<Record<string, (callback: Callback) => void>> = {
  'nowhere.fault.example': (callback) => callback(failure('ENOTFOUND')),
  'later.fault.example': (callback) => callback(failure('EAI_AGAIN')),
  'slow.fault.example': () => {
    // Never answers.
  },
  'two.fault.example': (callback) =>
    callback(null, [
      { address: '::1', family: 6 },
      { address: '127.0.0.1', family: 4 },
    ]),
};

type Callback = (error: Error | null, addresses?: readonly dns.LookupAddress[]) => void;

/** Resolves these names until the returned function is called. */
export function stubNames(): () => void {
  const original = dns.lookup;
  const lookup = (name: string, options: object, callback: Callback): void => {
    const answer = answers[name];
    if (answer === undefined) Reflect.apply(original, dns, [name, options, callback]);
    else setImmediate(() => answer(callback));
  };
  Reflect.set(dns, 'lookup', lookup);
  return () => {
    Reflect.set(dns, 'lookup', original);
  };
}

/** An error like Node's, whose message contains the name. */
function failure(code: string): Error {
  const name = 'canary.fault.example';
  return Object.assign(new Error(`getaddrinfo ${code} ${name}`), { code, hostname: name });
}
