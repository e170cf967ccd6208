/** The session that a Messages request names, for channels that keep sessions on one account. */
import type { Call } from '../../call.ts';
import type { IncomingHeaders } from '../../http.ts';
import { fieldOf, insideField } from '../fields.ts';
import { sessionHeader } from '../session-header.ts';

/** Coding agents send it in a header; other clients have only the name of their user. */
export function messagesSession(call: Call, headers: IncomingHeaders): string | undefined {
  return sessionHeader(headers, 'x-claude-code-session-id') ?? userId(call);
}

function userId(call: Call): string | undefined {
  const user = insideField(call, 'metadata', (inside) => fieldOf(inside, 'user_id'));
  return typeof user === 'string' && user !== '' ? user : undefined;
}
