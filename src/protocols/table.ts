/** Every API that the gateway serves, by its name: a new one is a folder and a row here. */
import type { ProtocolName } from '../ports/catalog.ts';
import { chat } from './chat/protocol.ts';
import { images } from './images/protocol.ts';
import { native } from './native/protocol.ts';
import type { Protocol } from './protocol.ts';

/** Protocols by their names; a test may add one of its own. */
export type ProtocolTable = Readonly<Record<string, Protocol>>;

/** Complete by its type: no name without a row. */
export const protocols: Readonly<Record<ProtocolName, Protocol>> = { chat, images, native };
