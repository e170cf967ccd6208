/**
 * Reads a request's body into a call: checks size and type, scans the JSON once, and reads the
 * members that the gateway needs.
 */

import type { Body } from '../bytes/body/body.ts';
import { bodyBudget, type FairShares, smallBodyBytes } from '../bytes/body/fair-shares.ts';
import { contentLengthOf } from '../bytes/body/headers.ts';
import { bodiesOverloaded, readBody } from '../bytes/body/read.ts';
import { largeTextBytes, scanBody, scanBodyInTurns } from '../bytes/json/scan/body.ts';
import { explainFault } from '../bytes/json/scan/scan.ts';
import type { Tape } from '../bytes/json/tape.ts';
import type { Call } from '../call.ts';
import { maxTranslatedValues } from '../canonical/complexity.ts';
import type { MaybePromise } from '../ports/call-options.ts';
import type { BodyDefaults, CallRoute } from '../protocols/protocol.ts';
import type { Begun, Read } from './call-record.ts';
import { whenKnown } from './ports/port-calls.ts';

/**
 * Receives the body. Its bytes count against the key's share until the call is done, because they
 * stay in memory for another channel and in the upstream client.
 *
 * @throws GatewayError `body_too_large`, `unsupported_media_type`, `invalid_request`, `overloaded`
 */
export function receiveBody(
  { received: { request, settings }, key, route, running }: Begun,
  shares: FairShares,
): MaybePromise<Body> {
  const maxBytes = route.protocol.maxBodyBytes(settings);
  const announcedBytes = contentLengthOf(request.headers);
  const budget = bodyBudget(shares, key.id, announcedBytes);
  const { clock } = settings;
  return whenKnown(readBody(request, { maxBytes, announcedBytes, budget, clock }), (body) => {
    running.onDone(() => budget.give(body.byteLength));
    return body;
  });
}

/**
 * Counts bytes that the gateway adds to a body that was received, until the call is done.
 *
 * @throws GatewayError `overloaded` if the key's share does not allow them
 */
export function reserveAdded(
  { key, running, call: { body } }: Read,
  addedBytes: number,
  shares: FairShares,
): void {
  const own = body.byteLength;
  const isSmall = own + addedBytes <= smallBodyBytes;
  if (!shares.take(key.id, addedBytes, { own, isSmall })) throw bodiesOverloaded();
  running.onDone(() => shares.give(key.id, addedBytes));
}

/**
 * Counts the tape of a body that consists of very many values, such as a list of zeros: it takes up
 * to eight times as much as the body.
 *
 * @throws GatewayError `overloaded` if the key's share does not allow it
 */
export function reserveTape(read: Read, shares: FairShares): void {
  const { body, tape } = read.call;
  const addedBytes = tape.byteLength - body.byteLength;
  if (addedBytes > smallBodyBytes) reserveAdded(read, addedBytes, shares);
}

/** @throws GatewayError `invalid_request`, with the fault and its position */
export function readCall(body: Body, route: CallRoute, defaults: BodyDefaults): Call {
  return checkedCall(scanned(body), route, defaults);
}

export function readCallInTurns(
  body: Body,
  route: CallRoute,
  defaults: BodyDefaults,
): Call | Promise<Call> {
  if (body.text.length <= largeTextBytes) return readCall(body, route, defaults);
  return scanBodyInTurns(body).then(
    (tape) => checkedCall(tape, route, defaults),
    (error: unknown) => Promise.reject(explainFault(error, body.text)),
  );
}

function scanned(body: Body): Tape {
  try {
    return scanBody(body);
  } catch (error) {
    throw explainFault(error, body.text);
  }
}

function checkedCall(tape: Tape, route: CallRoute, defaults: BodyDefaults): Call {
  const call = route.protocol.read(tape, route, defaults);
  return tape.count > maxTranslatedValues ? { ...call, isTooComplex: true } : call;
}
