/** The schemas of replies by their names in the OpenAPI document. */
import type { z } from 'zod';
import {
  booksReply,
  callPageReply,
  callsOfRequestReply,
  resolveReply,
  usageReply,
} from './calls.ts';
import { catalogCheckReply, channelChangedReply, errorReply, modelsReply } from './channels.ts';
import {
  issuedKeyReply,
  keyPageReply,
  keyReply,
  rotatedKeyReply,
  toppedUpKeyReply,
} from './keys.ts';
import { nowReply, sessionReply } from './now.ts';
import { reason } from './parts.ts';

/** Each becomes a component of the document, so that a client generator gives it this name. */
export const namedReplies: Readonly<Record<string, z.ZodType>> = {
  Books: booksReply,
  CallPage: callPageReply,
  CallsOfRequest: callsOfRequestReply,
  CatalogCheck: catalogCheckReply,
  ChannelChanged: channelChangedReply,
  Error: errorReply,
  FailureReason: reason,
  IssuedKey: issuedKeyReply,
  Key: keyReply,
  KeyPage: keyPageReply,
  Models: modelsReply,
  Now: nowReply,
  Resolution: resolveReply,
  RotatedKey: rotatedKeyReply,
  Session: sessionReply,
  ToppedUpKey: toppedUpKeyReply,
  Usage: usageReply,
};
