/** Reads lists that stores and the library return in pages. */
import type { MaybePromise } from '../ports/call-options.ts';

/** The pages of a list, one after the other. */
export async function* pagesOf<T extends { readonly next?: string | undefined }>(
  read: (page: { readonly after?: string }) => MaybePromise<T>,
): AsyncGenerator<T> {
  let after: string | undefined;
  do {
    const page: T = await read(after === undefined ? {} : { after });
    yield page;
    after = page.next;
  } while (after !== undefined);
}
