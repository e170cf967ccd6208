/** Sends a request to a platform that hosts a provider's models: signed, if its keys are of AWS. */
import type { HostedCall, Hosting, SignedRequest } from '../../dialects/hosting.ts';
import { UpstreamError } from '../../errors.ts';
import type { HeaderMap } from '../../http.ts';
import type { UpstreamRequest } from '../../ports/upstream-client.ts';
import type { Access } from '../models/model-plan.ts';
import { type OpenedResponse, type SendingDeps, sendUpstream } from './send-upstream.ts';

export interface HostedSending extends SendingDeps {
  readonly hosting: Hosting;
  readonly hosted: HostedCall;
  readonly access: Pick<Access, 'secret' | 'form'>;
  readonly nowMs: number;
}

export async function sendHosted(
  request: Omit<UpstreamRequest, 'onAbort'>,
  { hosting, hosted, access, nowMs, ...sending }: HostedSending,
): Promise<OpenedResponse> {
  const { secret, form } = access;
  const { sign } = hosting;
  const isSigned = form === 'aws' && sign !== undefined;
  const signature = isSigned ? await signed({ ...request, secret, nowMs }, sign) : {};
  const send: SendingDeps['client']['send'] = async (sent) => {
    const response = await sending.client.send(sent);
    return hosting.open?.(response, hosted) ?? response;
  };
  const headers = { ...request.headers, ...signature };
  return await sendUpstream({ ...request, headers }, { ...sending, client: { send } });
}

/** @throws UpstreamError of a credential: nothing has been sent */
async function signed(
  request: SignedRequest,
  sign: NonNullable<Hosting['sign']>,
): Promise<HeaderMap> {
  try {
    return await sign(request);
  } catch (cause) {
    throw new UpstreamError('connect', 'credential_unavailable', { cause });
  }
}
