/**
 * Reads a request's body into a call: size, type, one strict scan, then the fields that matter
 * here.
 */
import type { Body } from '../bytes/body.ts';
import type { ByteBudget } from '../bytes/byte-budget.ts';
import { readBody } from '../bytes/read-body.ts';
import { largeTextBytes, scanBody, scanBodyInTurns, type WholeScan } from '../bytes/scan-body.ts';
import type { Call } from '../call.ts';
import { maxTranslatedValues } from '../canonical/complexity.ts';
import type { GatewayRequest } from '../http.ts';
import type { Settings } from '../options.ts';
import type { CallRoute } from '../protocols/protocol.ts';

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
  const maxBytes = route.protocol.maxBodyBytes(settings);
  return readBody(request, { maxBytes, budget, clock: settings.clock });
}

/** @throws GatewayError `invalid_request` that says what is wrong and where */
export function readCall(body: Body, route: CallRoute): Call {
  return checkedCall(scanBody(body), route);
}

/** As {@link readCall}, but a large text is scanned in turns of the event loop. */
export function readCallInTurns(body: Body, route: CallRoute): Call | Promise<Call> {
  if (body.text.length <= largeTextBytes) return readCall(body, route);
  return scanBodyInTurns(body).then((scanned) => checkedCall(scanned, route));
}

function checkedCall(scanned: WholeScan, route: CallRoute): Call {
  const call = route.protocol.read(scanned, route);
  return scanned.values > maxTranslatedValues ? { ...call, isTooComplex: true } : call;
}
