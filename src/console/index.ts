/** The entry point `tollgate/console`: a page for operators, and a sign-in for hosts without one. */
export { type ConsoleHandlerOptions, consoleHandler } from './handler.ts';
export {
  type ConsoleSignIn,
  type ConsoleSignInOptions,
  consoleSignIn,
  type Exchange,
} from './sign-in.ts';
