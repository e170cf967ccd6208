/** Scans a request body, with or without gaps in its text. */
import { isGatewayError } from '../errors.ts';
import { type Body, joinedBody } from './body.ts';
import { type Member, scanJsonObject } from './json-scan.ts';

/** A caller's body after the scan: its bytes, and where its top-level members are. */
export interface ScannedBody {
  readonly body: Body;
  readonly members: readonly Member[];
}

/** @throws GatewayError as `scanJsonObject` does */
export function scanBody(body: Body): ScannedBody {
  if (body.gaps.length === 0) return { body, members: scanJsonObject(body.text) };
  try {
    return { body, members: scanJsonObject(body.text) };
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    // All of it tells where it is wrong; or it is right, and a gap lay in a list of numbers.
    // It takes the other's place in whatever holds the body, which was counted once.
    Object.assign(body, joinedBody(body.pieces, body.byteLength));
    return { body, members: scanJsonObject(body.text) };
  }
}
