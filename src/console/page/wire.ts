/** The replies of the admin interface and their parts, under the names that the page uses. */
import type { Reply } from '../../admin/http/replies.ts';

/** Who is signed in, and what the console can show and change. */
export type Session = Reply<'Session'>;
/** The current state of the process that serves the page. */
export type Now = Reply<'Now'>;
/** The calls of a minute, an hour or a day. */
export type Bucket = Now['buckets'][number];
/** How bad a clause of the sentence is. */
export type Severity = Now['sentence'][number]['severity'];
/** Something that needs a person to act. */
export type Attention = Now['attention'][number];
/** How often requests were refused for one reason. */
export type RefusalCount = Now['refusals'][number];
/** The same, since when, and by which process. */
export type RefusalReason = Reply<'RefusalReasons'>['data'][number];
/** A page of calls, and where they come from. */
export type CallPage = Reply<'CallPage'>;
/** A call that had reserved quota. */
export type Call = Extract<CallPage['data'][number], { readonly kind: 'call' }>;
/** A request that was refused before it reserved quota. */
export type Refusal = Extract<CallPage['data'][number], { readonly kind: 'refusal' }>;
/** Everything that is known about one request id. */
export type CallsOfRequest = Reply<'CallsOfRequest'>;
/** Everything that is known about a call. */
export type CallDetail = CallsOfRequest['calls'][number];
/** One attempt on one channel. */
export type Attempt = CallDetail['attempts'][number];
/** A page of a report, and its sums. */
export type Usage = Reply<'Usage'>;
/** One row of a report. */
export type UsageRow = Usage['data'][number];
/** Where the log and the quota store differ. */
export type BooksRow = Reply<'Books'>['data'][number];
/** A page of keys. */
export type KeyPage = Reply<'KeyPage'>;
/** A key with its balances. */
export type Key = Reply<'Key'>;
/** A key after a top-up, and whether the top-up was a repetition. */
export type ToppedUpKey = Reply<'ToppedUpKey'>;
/** What one subject of a key may spend, has spent and holds. */
export type Balance = NonNullable<Key['balances']>[number];
/** A new key and its secret. */
export type IssuedKey = Reply<'IssuedKey'>;
/** A model and its channels. */
export type Model = Reply<'Models'>['data'][number];
/** A channel of a model. */
export type Channel = Model['channels'][number];
