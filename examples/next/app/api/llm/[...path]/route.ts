/** The gateway in the App Router: `/api/llm/v1/…` and `/api/llm/v1beta/…`. */
import { type FetchHandler, fetchAdapter } from 'tollgate/fetch';
import { gateway } from '../../../../gateway';

/** The gateway needs Node's modules, and a process that outlives the reply. */
export const runtime = 'nodejs';
/** The longest call in seconds, on hosts that limit it. */
export const maxDuration = 300;

let adapter: FetchHandler | undefined;

function handler(request: Request): Promise<Response> {
  adapter ??= fetchAdapter(gateway(), { basePath: '/api/llm' });
  return adapter(request);
}

export { handler as DELETE, handler as GET, handler as HEAD, handler as POST };
