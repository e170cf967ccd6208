/** The bundled pages, as text: the build (console-page.ts) replaces these constants with it. */

declare const CONSOLE_SCRIPT: string;
declare const CONSOLE_STYLE: string;
declare const SIGN_IN_SCRIPT: string;
declare const SIGN_IN_STYLE: string;

export interface Asset {
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
