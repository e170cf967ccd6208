/** The errors of the admin library, each with the status that it has over HTTP. */
import { errorName, isConfigurationError, isError, isGatewayError } from '../errors.ts';
import { isStoreCorrupt, isStoreUnavailable } from '../ports/call-options.ts';
import { formatPath, type Problem } from '../ports/problems.ts';

const statuses = {
  invalid_request: 400,
  not_signed_in: 401,
  read_only: 403,
  cross_origin: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  internal_error: 500,
  not_supported: 501,
  unavailable: 503,
} as const;

/** The codes of {@link AdminError}. Stable: hosts and scripts may switch on them. */
export type AdminErrorCode = keyof typeof statuses;

/** The HTTP status of each code. */
export const adminStatusOf: Readonly<Record<AdminErrorCode, number>> = statuses;

/** One of several things that are wrong with a request. */
export interface AdminProblem {
  /** The row of a batch, beginning with 1. */
  readonly row?: number;
  /** The member or parameter that is wrong: `limitNanos`, `quota.0.id`. */
  readonly field: string;
  /** What is wrong with it, and what to do. */
  readonly message: string;
}

/** Nobody fixes more at once. */
export const maxProblems = 100;

/**
 * The admin library could not read or change something. The message says what is wrong and what to
 * do; it holds no secret.
 */
export class AdminError extends Error {
  override readonly name = 'AdminError';
  /** What kind of failure it is; `adminStatusOf` has the HTTP status of each. */
  readonly code: AdminErrorCode;
  /** The member or parameter that is wrong: `limitNanos`. */
  readonly field: string | undefined;
  /** All that is wrong, at most 100 problems, if more than one was found or it is in a batch. */
  readonly problems: readonly AdminProblem[] | undefined;

  constructor(
    code: AdminErrorCode,
    message: string,
    details: {
      /** The member or parameter that is wrong: `limitNanos`. */
      readonly field?: string;
      /** Each wrong member, if there are several. */
      readonly problems?: readonly AdminProblem[];
      /** What a store threw. */
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.field = details.field;
    this.problems = details.problems?.slice(0, maxProblems);
  }
}

/** Whether the value is an {@link AdminError}, by its shape: a host may load the package twice. */
export function isAdminError(error: unknown): error is AdminError {
  return errorName(error) === 'AdminError' && typeof error === 'object' && error !== null;
}

export function invalid(field: string, message: string): AdminError {
  return new AdminError('invalid_request', message, { field });
}

/** An error with everything that is wrong with a value. */
export function problemsError(found: readonly Problem[]): AdminError {
  const problems = found.map(({ path, sentence }) => ({
    field: formatPath('', path),
    message: sentence,
  }));
  const { field = '', message = 'Not valid.' } = problems[0] ?? {};
  const all = problems.length < 2 ? {} : { problems };
  return new AdminError('invalid_request', message, { field, ...all });
}

/** An error with the problems of rows. */
export function rowsError(problems: readonly AdminProblem[], first: AdminProblem): AdminError {
  const { row, field, message } = first;
  return new AdminError('invalid_request', `Row ${row}: ${message}`, { field, problems });
}

/** Leaves out messages of unknown errors: a driver's may contain an address or a value. */
export function adminErrorOf(error: unknown): AdminError {
  if (isAdminError(error)) return error;
  if (isConfigurationError(error) || errorName(error) === 'RangeError') {
    const message = error instanceof Object && 'message' in error ? String(error.message) : '';
    return new AdminError('invalid_request', message, { cause: error });
  }
  if (errorName(error) === 'CatalogConflict' && isError(error)) {
    return new AdminError('conflict', error.message, { cause: error });
  }
  if (isGatewayError(error) && error.code !== 'store_unavailable') {
    return new AdminError('invalid_request', error.message, { cause: error });
  }
  if (isGatewayError(error) || isStoreUnavailable(error)) {
    return new AdminError(
      'unavailable',
      'A store failed or did not answer in time. A change may have taken effect: look before you ' +
        'try again.',
      { cause: error },
    );
  }
  if (isStoreCorrupt(error)) {
    return new AdminError(
      'internal_error',
      'A store returned a row that this version can’t read. The cause of this error, which ' +
        'adminHandler passes to onError, has the details.',
      { cause: error },
    );
  }
  return new AdminError(
    'internal_error',
    'An unexpected error occurred. adminHandler passes its cause to onError.',
    { cause: error },
  );
}

/** What to do if only a database can do it. */
export function keepInDatabase(member: string, inCode: string): string {
  const configured = `\`${member}\` in the configuration of \`npx tollgate serve\``;
  return `Keep it in a database: ${configured}, in code ${inCode}.`;
}

/** For usage logs that can't be queried. */
export const queriedLog: string = keepInDatabase(
  'stores.usage',
  'sqliteUsageSink or postgresUsageSink',
);

/** For catalogs that can't be changed. */
export const databaseCatalog: string = keepInDatabase(
  'catalog.store',
  'a sqliteCatalog or postgresCatalog that createAdmin is given',
);

export function notSupported(what: string, remedy: string): AdminError {
  return new AdminError('not_supported', `${what} ${remedy}`);
}
