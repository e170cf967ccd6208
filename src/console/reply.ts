/** Writes documents, scripts and style sheets, with their security headers. */
import type { ServerResponse } from 'node:http';
import { sendJson, startReply } from '../admin/http/reply.ts';
import type { Asset } from './assets.ts';

/** Scripts and styles only from files of this origin; no frames, no forms, no other origin. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Sends a file of the console. Node leaves the body out of a reply to HEAD. */
export function sendAsset(response: ServerResponse, { type, text }: Asset, status = 200): void {
  send(response, status, { 'content-type': type }, Buffer.from(text));
}

export function sendHtml(response: ServerResponse, html: string, status = 200): void {
  sendAsset(response, { type: 'text/html; charset=utf-8', text: html }, status);
}

export function redirect(response: ServerResponse, path: string): void {
  send(response, 303, { location: path }, Buffer.alloc(0));
}

/** Sends an empty JSON object and a cookie, in addition to cookies of the host. */
export function sendCookie(response: ServerResponse, cookie: string): void {
  if (response.headersSent || response.destroyed) return;
  response.appendHeader('set-cookie', cookie);
  sendJson(response, 200, {});
}

function send(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  bytes: Uint8Array,
): void {
  if (response.headersSent || response.destroyed) return;
  startReply(response, status, {
    'content-security-policy': policy,
    'content-length': String(bytes.length),
    ...headers,
  });
  response.end(bytes);
}
