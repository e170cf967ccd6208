/** The replies of the admin interface and their parts, under the names that the page uses. */
import type { Reply } from '../../admin/http/replies.ts';

export type Session = Reply<'Session'>;
export type Now = Reply<'Now'>;
export type Bucket = Now['buckets'][number];
export type Severity = Now['sentence'][number]['severity'];
export type Attention = Now['attention'][number];
export type RefusalCount = Now['refusals'][number];
export type RefusalReason = Reply<'RefusalReasons'>['data'][number];
export type CallPage = Reply<'CallPage'>;
/** A call that had reserved quota. */
export type Call = Extract<CallPage['data'][number], { readonly kind: 'call' }>;
/** A request that was refused before it reserved quota. */
export type Refusal = Extract<CallPage['data'][number], { readonly kind: 'refusal' }>;
export type CallsOfRequest = Reply<'CallsOfRequest'>;
export type CallDetail = CallsOfRequest['calls'][number];
export type Attempt = CallDetail['attempts'][number];
export type Usage = Reply<'Usage'>;
export type UsageRow = Usage['data'][number];
export type BooksRow = Reply<'Books'>['data'][number];
export type KeyPage = Reply<'KeyPage'>;
export type Key = Reply<'Key'>;
export type ToppedUpKey = Reply<'ToppedUpKey'>;
export type Balance = NonNullable<Key['balances']>[number];
export type IssuedKey = Reply<'IssuedKey'>;
export type Model = Reply<'Models'>['data'][number];
export type Channel = Model['channels'][number];
