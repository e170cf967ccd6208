/** The gateway in the Pages Router: `/api/node/v1/…` and `/api/node/v1beta/…`. */
import { type HostRequest, type HostResponse, type NodeHandler, nodeAdapter } from 'tollgate/node';
import { gateway } from '../../../gateway';

/** The gateway reads the body itself. */
export const config = { api: { bodyParser: false } };

let adapter: NodeHandler | undefined;

/** Resolves when the reply has been sent, for which Next.js waits. */
export default function handler(req: HostRequest, res: HostResponse): Promise<void> {
  adapter ??= nodeAdapter(gateway(), { basePath: '/api/node' });
  return adapter(req, res);
}
