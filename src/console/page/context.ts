/** What every view gets: the session, the admin interface, and navigation. */
import type { Api } from './api.ts';
import type { Route } from './route.ts';
import type { Now, Session } from './wire.ts';

/** The page around a view. */
export interface PageContext {
  readonly api: Api;
  readonly session: Session;
  /** The server's time: the clock of an operator's machine may be wrong. */
  nowMs(): number;
  /** The place that is shown. */
  route(): Route;
  /** Shows another place with the same range. */
  go(change: RouteChange): void;
  /** The URL of another place with the same range. */
  href(change: RouteChange): string;
  /** Shows what was done, in a corner and to screen readers. */
  announce(text: string): void;
  /** Requests the live figures again. */
  refreshNow(): void;
}

/** The parts of a route that change; filters are replaced as a whole. */
export type RouteChange = Partial<Route>;

/** A view that is shown. */
export interface View {
  readonly node: HTMLElement;
  /** The route has changed within the same view. */
  show(route: Route): void;
  /** New live figures. */
  update?(now: Now): void;
  /** The live figures can't be read. */
  fail?(message: string): void;
  close?(): void;
}

/** Whether the operator may change something. */
export function canManage({ session }: PageContext): boolean {
  return session.can === 'manage';
}
