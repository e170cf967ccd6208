// suite: quick runtime
/** What the options must be: a wrong one is named with its remedy, and never quoted. */
import { describe, expect, it } from 'vitest';
import { type NotifyOptions, notify } from '../../src/notify/index.ts';
import { secret } from './harness.ts';

const gateway = { subscribe: () => () => {}, emit: () => {}, channels: () => [] };

function refusalOf(change: object): string {
  const options = Object.assign<NotifyOptions, object>(
    { url: 'https://h.example/', secret },
    change,
  );
  try {
    void notify(gateway, options).close();
  } catch (error) {
    return String(error);
  }
  return '';
}

describe('the url', () => {
  it.each([
    ...['https://h.example/hook?a=b', 'https://10.0.0.1:8443/', 'http://127.0.0.1:9/x'],
    ...['http://[::1]:9/', 'http://localhost/', 'http://127.8.8.8/'],
  ])('may be %s', (url) => expect(refusalOf({ url })).toBe(''));

  it.each([
    ...['http://h.example/private', 'http://127.0.0.1.h.example/private', 'file:///private'],
    ...['https://user:private@h.example/', 'https://user@h.example/private', 'private', ''],
    ...['http://10.0.0.1/private', 'http://[::2]/private', 'http://127.private/'],
  ])('may not be %s, which is not quoted', (url) => {
    const refusal = refusalOf({ url });

    expect(refusal).toMatch(/notify: options\.url must be an https URL/);
    expect(refusal).not.toMatch(/private|user:/);
  });
});

describe('the secret', () => {
  const of = (bytes: number): string => `whsec_${Buffer.alloc(bytes, 1).toString('base64')}`;

  it.each([of(24), of(64), of(33).replace(/=+$/, ''), [of(24), of(25)]])('may be %s', (one) =>
    expect(refusalOf({ secret: one })).toBe(''));

  it.each([
    ...[of(23), of(65), of(32).slice(6), `${of(32)}!`, `whsec_${'_'.repeat(43)}=`, 'whsec_', 7],
    ...[[], [of(32)], [of(32), of(32), of(32)], [of(32), 'private']],
  ])('may not be %s, which is not quoted', (one) => {
    const refusal = refusalOf({ secret: one });

    expect(refusal).toMatch(/notify: options\.secret.* must be whsec_ and base64/);
    expect(refusal).not.toMatch(/AQEB|private|____/);
  });
});

it.each([
  [{ on: ['budget.raised'] }, /options\.on\[0\] must be a list of budget\.reached, channel\.out/],
  [{ metadata: 'user' }, /options\.metadata must be a list/],
  [{ to: 'x' }, /options\.to does not exist/],
])('%o is refused', (change, refusal) => expect(refusalOf(change)).toMatch(refusal));
