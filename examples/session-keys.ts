/** Signed-in users of a web app call models from its own pages, with their session as the key. */
import {
  createGateway,
  type Gateway,
  type GatewayOptions,
  money,
  type SessionStore,
} from 'tollgate';

/** The host's own sessions. */
export interface WebSessions {
  /** The user that this session id belongs to, or undefined if it has ended. */
  userOf(sessionId: string): Promise<{ readonly id: string; readonly plan: string } | undefined>;
}

/** Charges calls of signed-in users to a quota of their own. */
export function sessionStore(sessions: WebSessions): SessionStore {
  return {
    find: async ({ headers }) => {
      const [, sessionId] = /(?:^|; )sid=([^;]+)/.exec(String(headers.cookie ?? '')) ?? [];
      const user = sessionId === undefined ? undefined : await sessions.userOf(sessionId);
      if (user === undefined) return undefined;
      return {
        id: user.id,
        group: user.plan,
        disabled: false,
        quota: [{ id: user.id, period: 'day', limitNanos: money('0.50') }],
      };
    },
  };
}

/** A gateway that takes keys from servers and sessions from the app's pages. */
export function gatewayWithSessions(options: GatewayOptions, sessions: WebSessions): Gateway {
  return createGateway({ ...options, sessions: sessionStore(sessions) });
}
