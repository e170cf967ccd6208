/**
 * The files and HTML pages of the console, and their security headers. Pages load files from their
 * own origin, and have no inline script or style.
 */
import type { ServerResponse } from 'node:http';
import { sendJson, startReply } from '../admin/http/reply.ts';

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

/** The bundled pages: the build (console-page.ts) replaces these constants with their text. */
declare const CONSOLE_SCRIPT: string;
declare const CONSOLE_STYLE: string;
declare const SIGN_IN_SCRIPT: string;
declare const SIGN_IN_STYLE: string;

interface Asset {
  readonly type: string;
  readonly text: string;
}

const script = 'text/javascript; charset=utf-8';
const style = 'text/css; charset=utf-8';

/** The files that only operators may load, by their path below the mount. */
export const consoleAssets: ReadonlyMap<string, Asset> = new Map([
  ['/console.js', { type: script, text: CONSOLE_SCRIPT }],
  ['/console.css', { type: style, text: CONSOLE_STYLE }],
]);

/** The files that everybody may load if the console has its own sign-in. */
export const signInAssets: ReadonlyMap<string, Asset> = new Map([
  ['/sign-in.js', { type: script, text: SIGN_IN_SCRIPT }],
  ['/sign-in.css', { type: style, text: SIGN_IN_STYLE }],
]);

export function consoleHtml(base: string, title: string, canSignOut: boolean): string {
  const signOut = canSignOut ? ' data-sign-out' : '';
  return page(
    escaped(title),
    `<link rel="stylesheet" href="${base}/console.css">
<script type="module" src="${base}/console.js"></script>`,
    `<main id="app"${signOut}><noscript>The console needs JavaScript.</noscript></main>`,
  );
}

/** The page that exchanges the token of a link for a session. */
export function signInHtml(base: string): string {
  return page(
    'Sign in',
    `<link rel="stylesheet" href="${base}/sign-in.css">
<script type="module" src="${base}/sign-in.js"></script>`,
    `<main>
<h1>Sign in to the console</h1>
<p id="state" role="status">Signing in …</p>
<noscript><p>The console needs JavaScript.</p></noscript>
</main>`,
  );
}

export function messageHtml(sentence: string): string {
  return page('Console', '', `<main><h1>Console</h1><p>${escaped(sentence)}</p></main>`);
}

function page(title: string, head: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
${head}
</head>
<body>
${body}
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}
