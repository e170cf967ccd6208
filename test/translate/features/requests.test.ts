// suite: quick
/** Features of requests on every wire: read from callers, and written for upstreams. */
import { describe } from 'vitest';
import { formats } from './formats.ts';
import { calls } from './history.ts';
import { media } from './media.ts';
import { reasoningSettings } from './reasoning.ts';
import { reasoningHistory } from './reasoning-history.ts';
import { checkRequests } from './request-rows.ts';
import { providerMembers, settings } from './settings.ts';
import { systemTexts, turns } from './system-texts.ts';
import { choices, tools } from './tools.ts';

describe('settings', () => checkRequests(settings));
describe('members of one provider', () => checkRequests(providerMembers));
describe('tools', () => checkRequests(tools));
describe('the choice of tools', () => checkRequests(choices));
describe('the output format', () => checkRequests(formats));
describe('reasoning', () => checkRequests(reasoningSettings));
describe('what a user says', () => checkRequests(media));
describe('system texts', () => checkRequests(systemTexts));
describe('earlier turns', () => checkRequests(turns));
describe('calls and results', () => checkRequests(calls));
describe('reasoning in the history', () => checkRequests(reasoningHistory));
