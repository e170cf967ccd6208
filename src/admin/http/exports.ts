/**
 * Sends CSV exports: only as fast as the client reads, until it disconnects, and a few at a time.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../clock.ts';
import { within } from '../../ports/within.ts';
import { AdminError } from '../admin-error.ts';
import { startReply } from './reply.ts';

export interface CsvExport {
  readonly fileName: string;
  readonly csv: AsyncIterable<string>;
}

/**
 * Sends an export. An error before the first piece is thrown; a later one aborts the reply, so that
 * it does not look complete.
 *
 * @throws AdminError `conflict` while too many other exports run
 */
export type SendExport = (
  response: ServerResponse,
  file: CsvExport,
  isHead: boolean,
) => Promise<void>;

const maxExports = 4;
/** A client that reads nothing for this long counts as disconnected. */
const drainMs = 30_000;

/** The exports of one handler, which share a limit. */
export function csvExports(clock: Clock): SendExport {
  let running = 0;
  return async (response, file, isHead) => {
    if (running >= maxExports) {
      throw new AdminError(
        'conflict',
        `${maxExports} exports are running, which is the maximum. Try again when one has ended.`,
      );
    }
    running += 1;
    try {
      await sendCsv(response, file, isHead, clock);
    } finally {
      running -= 1;
    }
  };
}

async function sendCsv(
  response: ServerResponse,
  { fileName, csv }: CsvExport,
  isHead: boolean,
  clock: Clock,
): Promise<void> {
  const iterator = csv[Symbol.asyncIterator]();
  let piece = await iterator.next();
  startReply(response, 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${fileName}"`,
  });
  if (isHead) {
    await iterator.return?.();
    response.end();
    return;
  }
  try {
    while (piece.done !== true && !response.destroyed) {
      if (!response.write(piece.value)) await within(drained(response), drainMs, clock);
      piece = await iterator.next();
    }
    response.end();
  } catch {
    response.destroy();
  } finally {
    await iterator.return?.();
  }
}

async function drained(response: ServerResponse): Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  try {
    await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  } finally {
    stop.abort();
  }
}
