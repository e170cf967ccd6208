/** The session that a Messages request names, for channels that keep sessions on one account. */
import { none, root } from '../../bytes/json/tape.ts';
import type { Call } from '../../call.ts';
import type { IncomingHeaders } from '../../http.ts';
import { sessionHeader } from '../session-header.ts';

/** Coding agents send it in a header; other clients have only the name of their user. */
export function messagesSession(call: Call, headers: IncomingHeaders): string | undefined {
  return sessionHeader(headers, 'x-claude-code-session-id') ?? userId(call);
}

function userId({ tape }: Call): string | undefined {
  const user = tape.get(tape.get(root, 'metadata'), 'user_id');
  return user !== none && tape.isString(user) && tape.length(user) > 2
    ? tape.text(user)
    : undefined;
}
