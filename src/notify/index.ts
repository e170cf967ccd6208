/** The entry point `tollgate/notify`: signed notifications to a URL. */
export type { NotificationFailure, NotificationType } from '../events/notification-types.ts';
export { type Notifications, notify } from './notify.ts';
export type { NotifiedType, NotifyOptions } from './options.ts';
