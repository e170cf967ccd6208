/** Serialises the request of a call once; then only the digits of `{n}` and `{m}` are rewritten. */
import { sixDigits } from './calls.mjs';

const digits = sixDigits(0).length;

/**
 * Returns a function that writes the request with a random key and model.
 *
 * @param counts the numbers of different values of `n` and `m`
 */
export function requestWriter({ path, headers, body }, port, { counts, random }) {
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    'content-type: application/json',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(wide(body))}`,
  ];
  const text = `${head.join('\r\n')}\r\n\r\n${body}`;
  const prepared = Buffer.from(wide(text));
  const places = placesIn(text);

  return () => {
    const numbers = { n: sixDigits(random(counts.n)), m: sixDigits(random(counts.m)) };
    const bytes = Buffer.from(prepared);
    for (const { name, at } of places) bytes.latin1Write(numbers[name], at);
    return bytes;
  };
}

const wide = (text) => text.replace(/\{[nm]\}/g, sixDigits(0));

/** The positions of the digits, once each place is replaced by six of them. */
function placesIn(text) {
  return [...text.matchAll(/\{([nm])\}/g)].map(({ 1: name, index }, count) => ({
    name,
    at: Buffer.byteLength(text.slice(0, index)) + count * (digits - '{n}'.length),
  }));
}
