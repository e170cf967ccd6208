/** The live figures as server-sent events, for as long as the operator is signed in. */
import type { ServerResponse } from 'node:http';
import type { Admin } from '../admin.ts';
import { isAdminError } from '../admin-error.ts';
import type { NowRange } from '../now.ts';
import { reportedError } from './failure.ts';
import { closeAfterwards, jsonTextOf, startReply } from './reply.ts';

const everyMs = 2_000;
const authorizeEveryMs = 60_000;

export interface StreamOptions {
  readonly isHead: boolean;
  readonly range: NowRange | undefined;
  readonly onError: ((error: unknown) => void) | undefined;
}

/**
 * Sends `event: now` at once and every 2 s; an event is skipped while the client has not read the
 * last one. It checks every minute whether the operator is still signed in; if not,
 * `event: signed-out` ends the stream. The stream also ends when the library or its gateway is
 * closed, because a server that is closing waits for it. Later requests get 204, which tells
 * browsers not to reconnect.
 */
export async function streamEvents(
  admin: Admin,
  response: ServerResponse,
  authorizeAgain: () => Promise<unknown>,
  { isHead, range, onError }: StreamOptions,
): Promise<void> {
  closeAfterwards(response);
  if (admin.isClosing()) {
    startReply(response, 204, {});
    response.end();
    return;
  }
  startReply(response, 200, {
    'content-type': 'text/event-stream; charset=utf-8',
    // A host's compression middleware would keep the events until the end.
    'cache-control': 'no-store, no-transform',
  });
  if (isHead) {
    response.end();
    return;
  }
  const send = sender(admin, response, authorizeAgain, { range, onError });
  const stop = admin.clock.every(everyMs, () => void send());
  response.once('close', stop);
  // A connection that broke reports an error of the response, which needs a listener.
  response.on('error', stop);
  await send();
}

/** Sends the current figures, unless the last ones are still being sent. */
function sender(
  { clock, now, isClosing }: Admin,
  response: ServerResponse,
  authorizeAgain: () => Promise<unknown>,
  { range, onError }: Omit<StreamOptions, 'isHead'>,
): () => Promise<void> {
  let askedMs = clock.monotonicMs();
  let isBusy = false;
  return async () => {
    if (isClosing()) return end(response);
    if (isBusy || response.writableNeedDrain) return;
    isBusy = true;
    try {
      if (clock.monotonicMs() - askedMs >= authorizeEveryMs) {
        askedMs = clock.monotonicMs();
        await authorizeAgain();
      }
      const figures = jsonTextOf(await now(range));
      if (!response.destroyed && !response.writableEnded) {
        response.write(`event: now\ndata: ${figures}\n\n`);
      }
    } catch (error) {
      // An AdminError comes from the sign-in only. Figures that can't be read are tried again
      // later.
      if (!isAdminError(error)) return;
      const { code } = reportedError(error, onError);
      // If `authorize` failed, the operator may still be signed in: the browser reconnects.
      response.end(code === 'unavailable' ? '' : 'event: signed-out\ndata: {}\n\n');
    } finally {
      isBusy = false;
    }
  };
}

/** A client that has stopped reading would not get the end of the stream either. */
function end(response: ServerResponse): void {
  if (response.writableNeedDrain) response.destroy();
  else response.end();
}
