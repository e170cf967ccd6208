/**
 * Reads a request's body into a call: size, type, one strict scan, then the fields that matter
 * here.
 */
import type { Body } from '../bytes/body.ts';
import type { ByteBudget } from '../bytes/byte-budget.ts';
import { readBody } from '../bytes/read-body.ts';
import { scanBody } from '../bytes/scan-body.ts';
import type { Call } from '../call.ts';
import type { GatewayRequest } from '../http.ts';
import type { Settings } from '../options.ts';
import { readChat } from '../protocols/chat.ts';
import type { Route } from '../protocols/endpoints.ts';
import { readImages } from '../protocols/images.ts';
import { readNative } from '../protocols/native.ts';

type CallRoute = Extract<Route, { readonly kind: 'call' }>;

/**
 * The body, at once where it is here already; the caller gives its bytes back to the budget.
 *
 * @throws GatewayError `body_too_large`, `unsupported_media_type`, `invalid_request`, `overloaded`
 */
export function receiveBody(
  request: GatewayRequest,
  route: CallRoute,
  settings: Settings,
  budget: ByteBudget,
): Body | Promise<Body> {
  const maxBytes = route.protocol === 'images' ? settings.maxImageBodyBytes : settings.maxBodyBytes;
  return readBody(request, { maxBytes, budget, clock: settings.clock });
}

/** @throws GatewayError `invalid_request` that says what is wrong and where */
export function readCall(body: Body, route: CallRoute): Call {
  const scanned = scanBody(body);
  switch (route.protocol) {
    case 'chat':
      return readChat(scanned);
    case 'images':
      return readImages(scanned);
    case 'native':
      return readNative(scanned, { ...route, modelId: route.modelId ?? '' });
  }
}
