/** What every view gets: the session, the admin interface, and navigation. */
import type { Api, Now, Session } from './api.ts';
import type { Route } from './route.ts';

export interface PageContext {
  readonly api: Api;
  readonly session: Session;
  /** The server's time: the clock of an operator's machine may be wrong. */
  nowMs(): number;
  route(): Route;
  /** Shows another place with the same range. */
  go(change: RouteChange): void;
  /** The URL of another place with the same range. */
  href(change: RouteChange): string;
  /** Shows what was done, in a corner and to screen readers. */
  announce(text: string): void;
  refreshNow(): void;
}

/** The parts of a route that change; filters are replaced as a whole. */
export type RouteChange = Partial<Route>;

export interface View {
  readonly node: HTMLElement;
  /** The route has changed within the same view. */
  show(route: Route): void;
  update?(now: Now): void;
  fail?(message: string): void;
  close?(): void;
}

export function canManage({ session }: PageContext): boolean {
  return session.can === 'manage';
}
