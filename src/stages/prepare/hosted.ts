/** Changes a prepared call for the platform that hosts the models. */
import { parseBoundedExactly } from '../../bounded-json.ts';
import { bodyFromChunks } from '../../bytes/body/elide.ts';
import { spliceMembers } from '../../bytes/body/splice.ts';
import { asBuffer } from '../../bytes/decode.ts';
import { scanBody } from '../../bytes/json/scan/body.ts';
import type { Tape } from '../../bytes/json/tape.ts';
import { concatBytes } from '../../bytes/sse.ts';
import type { Call } from '../../call.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import type { HostedCall, HostedEdits, HostedRequest, Hosting } from '../../dialects/hosting.ts';
import { isGatewayError } from '../../errors.ts';
import type { HeaderMap } from '../../http.ts';
import type { ForwardedParts } from '../../protocols/protocol.ts';
import type { ChannelPlan } from '../models/model-plan.ts';
import {
  droppedNote,
  type Prepared,
  type PreparedCall,
  type PreparedRequest,
} from './prepared-call.ts';

/** A call for a channel whose models a platform hosts. */
export interface HostedTarget extends HostedCall {
  readonly hosting: Hosting;
  readonly channelHeaders: HeaderMap;
}

export function hostedTarget(
  { operation, framing }: Pick<Call, 'operation' | 'framing'>,
  hosting: Hosting,
  { ownHeaders: channelHeaders, upstreamModel }: ChannelPlan,
): HostedTarget {
  return { hosting, operation: operation.name, framing, upstreamModel, channelHeaders };
}

/** What changes in a relayed call; undefined if nothing does. */
export function hostedEdits(
  { hosting, ...target }: HostedTarget,
  tape: HostedRequest['tape'],
  forwarded: ForwardedParts | undefined,
): HostedEdits | undefined {
  const { headers = {}, search = '' } = forwarded ?? {};
  return hosting.edit?.({ ...target, tape, headers, search });
}

/** The same for a translated call, whose body the gateway wrote. */
export function hostedTranslation(
  prepared: Prepared,
  target: HostedTarget,
  isStrict: boolean,
): Prepared {
  // A codec that sends several requests is the platform's own where they differ there.
  if ('kind' in prepared || prepared.series !== undefined) return prepared;
  return hostedBody(prepared, target, isStrict);
}

/** Changes a body that is not the caller's any more. */
export function hostedBody(
  prepared: PreparedRequest,
  target: HostedTarget,
  isStrict: boolean,
): PreparedRequest {
  const tape = tapeOf(prepared.body);
  const edited = hostedEdits(target, tape, undefined);
  if (edited === undefined) return prepared;
  const { edits, cuts, headers, search, dropped } = edited;
  return {
    ...prepared,
    body: spliceMembers(tape, edits, cuts),
    headers: { ...prepared.headers, ...headers },
    path: prepared.path + search,
    notes: withDropped(prepared.notes, dropped, isStrict),
  };
}

/** In arguments that a model wrote, a name may stand twice: then the last one is kept. */
function tapeOf(pieces: readonly Uint8Array[]): Tape {
  const bytes = concatBytes(pieces);
  try {
    return scanBody(bodyFromChunks([bytes], bytes.length));
  } catch (error) {
    const value = isGatewayError(error)
      ? parseBoundedExactly(asBuffer(bytes).toString())
      : undefined;
    if (value === undefined) throw error;
    const written = Buffer.from(jsonText(value));
    return scanBody(bodyFromChunks([written], written.length));
  }
}

export function wrapped(prepared: Prepared, { hosting, ...target }: HostedTarget): Prepared {
  if ('kind' in prepared || hosting.wrap === undefined) return prepared;
  const body = hosting.wrap(prepared.body, target);
  return { ...prepared, body } satisfies PreparedCall;
}

function withDropped(notes: HeaderMap, dropped: readonly string[], isStrict: boolean): HeaderMap {
  const name = 'x-tollgate-dropped';
  const earlier = notes[name]?.split(',') ?? [];
  return {
    ...notes,
    ...droppedNote(dropped, isStrict),
    ...droppedNote([...earlier, ...dropped], false),
  };
}
