/** Serialises the request of a call once; then only the digits of `{n}` are rewritten. */
import { sixDigits } from './calls.mjs';

const place = '{n}';

/** Returns a function from a running number to the bytes of that request. */
export function requestWriter({ path, headers, body }, port, spread) {
  const wide = (text) => text.replaceAll(place, sixDigits(0));
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
  if (places.length === 0) return () => prepared;

  return (count) => {
    // A stride of a large prime visits all numbers, out of order.
    const digits = sixDigits((count * 7_919) % spread);
    const bytes = Buffer.from(prepared);
    for (const at of places) bytes.latin1Write(digits, at);
    return bytes;
  };
}

/** The positions of the digits, once each `{n}` is replaced by six of them. */
function placesIn(text) {
  const before = text.split(place).slice(0, -1);
  let at = 0;
  return before.map((piece) => {
    at += Buffer.byteLength(piece) + (at === 0 ? 0 : sixDigits(0).length);
    return at;
  });
}
