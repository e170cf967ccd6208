/** The sessions of signed-in users. A real app has those of its sign-in library. */
import { randomUUID } from 'node:crypto';
import { money, type SessionStore } from 'tollgate';

declare global {
  var signedInUsers: Map<string, string> | undefined;
}

/** On `globalThis` for the same reason as the gateway. */
function users(): Map<string, string> {
  globalThis.signedInUsers ??= new Map();
  return globalThis.signedInUsers;
}

/** The cookie of a user who has just signed in. */
export function sessionCookie(userId: string): string {
  const sessionId = randomUUID();
  users().set(sessionId, userId);
  return `session=${sessionId}; Path=/; HttpOnly; SameSite=Lax; Secure`;
}

/** Signed-in users need no key: their browser sends the cookie, and each has an own quota. */
export const sessionStore: SessionStore = {
  find: ({ headers }) => {
    const [, sessionId = ''] = /(?:^|; )session=([^;]+)/.exec(String(headers.cookie)) ?? [];
    const id = users().get(sessionId);
    if (id === undefined) return undefined;
    const quota = [{ id, period: 'day' as const, limitNanos: money('0.50') }];
    return { id, group: 'staff', disabled: false, quota };
  },
};
