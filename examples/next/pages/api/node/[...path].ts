/** The gateway in the Pages Router: `/api/node/v1/…` and `/api/node/v1beta/…`. */
import { type HostRequest, type HostResponse, type NodeHandler, nodeAdapter } from 'tollgate/node';
import { gateway } from '../../../gateway';

/** The gateway reads the body itself, and answers after the handler has returned. */
export const config = { api: { bodyParser: false, externalResolver: true } };

let adapter: NodeHandler | undefined;

export default function handler(req: HostRequest, res: HostResponse): void {
  adapter ??= nodeAdapter(gateway(), { basePath: '/api/node' });
  adapter(req, res);
}
