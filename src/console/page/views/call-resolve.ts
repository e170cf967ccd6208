/** Resolves a call in doubt, after the operator has looked it up in the provider's account. */
import { amountField } from '../amount-field.ts';
import { canManage, type PageContext } from '../context.ts';
import { problemText } from '../dialog.ts';
import { button, el, refill } from '../dom.ts';
import { moneyText } from '../format.ts';
import { icon } from '../icons.ts';
import type { CallDetail } from '../wire.ts';

export function resolveForm(call: CallDetail, page: PageContext, done: () => void): HTMLElement {
  return el('section', { class: 'doubt', 'aria-label': 'In doubt' }, [
    el('h3', {}, icon('question'), 'Did this call run?'),
    el('p', {}, [
      'The gateway could not see how it ended. Look for it in the account of ',
      el('span', { class: 'id' }, call.channelId ?? 'the channel'),
      ` at the provider. Until then ${moneyText(call.heldNanos)} stays held.`,
    ]),
    canManage(page) ? choices(call, page, done) : undefined,
  ]);
}

function choices(call: CallDetail, page: PageContext, done: () => void): HTMLElement {
  const charge = amountField(`charge-${call.reservationId}`, 'Charge, if it ran', {
    placeholder: moneyText(call.heldNanos),
  });
  const problem = el('p', { class: 'problem', role: 'alert' });
  const resolve = async (ran: boolean): Promise<void> => {
    try {
      const isStated = ran && charge.value() !== '';
      const stated = isStated ? { chargeNanos: charge.nanos() } : {};
      const { requestId, reservationId } = call;
      const { status } = await page.api.post<{ readonly status: string }>(
        `/calls/${encodeURIComponent(requestId)}/resolve`,
        { ran, reservationId, ...stated },
      );
      page.announce(outcomeText(status, ran));
      done();
    } catch (error) {
      refill(problem, problemText(error));
    }
  };
  return el('div', { class: 'choices' }, [
    charge.node,
    button('It ran: charge it', () => void resolve(true), { 'data-focus': 'ran' }),
    button('It did not run: release', () => void resolve(false), { 'data-focus': 'not-ran' }),
    problem,
  ]);
}

function outcomeText(status: string, ran: boolean): string {
  if (status === 'already') return 'This call was resolved before.';
  return ran ? 'The call was charged.' : 'The hold was released.';
}
