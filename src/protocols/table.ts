/** The table of the APIs that the gateway serves. A new one is a folder and a row here. */

import type { FurtherRow } from '../apis.ts';
import type { ProtocolName } from '../ports/models/catalog.ts';
import { chat } from './chat/protocol.ts';
import { embeddings } from './embeddings/protocol.ts';
import { images } from './images/protocol.ts';
import { messages } from './messages/protocol.ts';
import { native } from './native/protocol.ts';
import { batchEmbedContents, embedContent } from './native-embeddings/protocol.ts';
import type { Protocol } from './protocol.ts';
import { responses } from './responses/protocol.ts';

/** Protocols by name. Tests may add others. */
export type ProtocolTable = Readonly<Record<string, Protocol>>;

/** The type requires a row for every name. */
export const protocols: Readonly<Record<ProtocolName | FurtherRow, Protocol>> = {
  chat,
  images,
  responses,
  messages,
  embeddings,
  native,
  embedContent,
  batchEmbedContents,
};
