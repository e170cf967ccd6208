/**
 * The entry point `tollgate/console`: a page for operators, and a sign-in for hosts without one.
 */
export { type ConsoleHandlerOptions, consoleHandler } from './handler.ts';
export {
  type ConsoleExchange,
  type ConsoleSignIn,
  type ConsoleSignInOptions,
  consoleSignIn,
} from './sign-in.ts';
