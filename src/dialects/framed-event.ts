/** How an event of a relayed stream is passed on to clients that read the names of events. */
import type { SseEvent } from '../bytes/sse.ts';

/** The most that the lines around one line of data may take: both names and their line ends. */
const maxFramingBytes = 'event: data: '.length + 6;
/** The first byte of a byte order mark. */
const byteOrderMark = 0xef;

/**
 * The event unchanged if it consists of its name and one line of data, else with nothing but these:
 * clients drop events without a name, and differ in what they do with other fields.
 */
export function framedEvent(event: SseEvent, type: string): Uint8Array {
  const { raw, name, data = '' } = event;
  if (name === type) {
    const framing = raw.length - Buffer.byteLength(data) - Buffer.byteLength(name);
    const isOneLine = framing <= maxFramingBytes && !data.includes('\n');
    if (isOneLine && raw.length > 0 && raw[0] !== byteOrderMark) return raw;
  }
  return Buffer.from(`event: ${type}\n${dataLines(data)}\n`);
}

/** The data of an event as lines of a stream. */
export function dataLines(data: string): string {
  return data
    .split('\n')
    .map((line) => `data: ${line}\n`)
    .join('');
}
