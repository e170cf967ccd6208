/** Says what is wrong at the faulty byte of a request body, which the scan only counts. */
import { GatewayError, isGatewayError } from '../../../errors.ts';
import { isLikeOwnSecret } from '../../../secret.ts';
import { closeBrace, closeBracket, comma, isSpace, quote } from '../text.ts';

/** The same error, or one whose message names what is at its byte of `text`. */
export function explainFault(error: unknown, text: Uint8Array): unknown {
  if (!isGatewayError(error) || error.atByte === undefined) return error;
  const { code, reason, atByte } = error;
  const message =
    reason === 'duplicate_key' ? duplicateName(text, atByte) : invalidText(text, atByte);
  return message === undefined
    ? error
    : new GatewayError(code, message, { ...(reason && { reason }) });
}

function duplicateName(text: Uint8Array, start: number): string | undefined {
  const name = Buffer.from(text.subarray(start, text.indexOf(quote, start))).toString('latin1');
  if (!/^[\w.-]{1,64}$/.test(name) || isLikeOwnSecret(name)) return undefined;
  return `The request body has \`${name}\` twice in one object, at byte ${start}. Send it once.`;
}

function invalidText(text: Uint8Array, at: number): string {
  if (text.every(isSpace)) return `The request body is empty. ${sendObject}`;
  if (at >= text.length) {
    return `The request body is not valid JSON: it ends too early, at byte ${at}. ${sendObject}`;
  }
  const fault = `The request body is not valid JSON at byte ${at}:`;
  const byte = text[at] ?? 0;
  if ((byte === closeBrace || byte === closeBracket) && followsComma(text, at)) {
    return `${fault} \`${String.fromCharCode(byte)}\` follows a comma. Remove that comma.`;
  }
  if (byte === apostrophe) return `${fault} \`'\` is there. JSON has double quotes.`;
  return `${fault} ${described(byte)} is there. ${sendObject}`;
}

const apostrophe = 0x27;
const backtick = 0x60;
const sendObject = 'Send one JSON object (RFC 8259).';

function followsComma(text: Uint8Array, at: number): boolean {
  let before = at - 1;
  while (before >= 0 && isSpace(text[before] ?? 0)) before -= 1;
  return text[before] === comma;
}

function described(byte: number): string {
  if (byte > 0x7e) return 'a character that is not ASCII';
  const isShown = byte > 0x20 && byte !== backtick;
  return isShown
    ? `\`${String.fromCharCode(byte)}\``
    : `the byte 0x${byte.toString(16).padStart(2, '0')}`;
}
