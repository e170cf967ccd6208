/** The options that routes and request readers need, for tests without a gateway. */
import type { BodyDefaults } from '../../src/protocols/protocol.ts';
import type { RouteSettings } from '../../src/protocols/routes.ts';

export const routeSettings: RouteSettings & BodyDefaults = {
  nativeKeyHeaders: ['x-vendor-api-key', 'x-goog-api-key'],
  allowQueryKey: false,
  unserved: 'refuse',
  ownerRoutes: false,
  azurePaths: false,
  defaultImageModel: undefined,
};
