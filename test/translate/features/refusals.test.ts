// suite: quick
/** Members of requests that readers refuse, and those that they leave out. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { invalid, leftOut, notPortable } from './refusals.ts';
import { type WireName, wireNames, wires } from './wires.ts';

const read = (wire: WireName, members: JsonObject) => {
  const { server, sent } = wires[wire];
  return server.begin({ ...sent, ...members }, { streamed: false }).request;
};

describe.each(wireNames)('%s', (wire) => {
  it.each(invalid[wire])('refuses by its path: %s %j', (param, members) => {
    expect(() => read(wire, members)).toThrow(
      expect.objectContaining({ name: 'GatewayError', code: 'invalid_request', param }),
    );
  });

  for (const [param, members, message = /./] of notPortable[wire] ?? []) {
    it(`cannot do without: ${param} ${JSON.stringify(members)}`, () => {
      expect(() => read(wire, members)).toThrow(
        expect.objectContaining({
          ...{ code: 'not_portable', param },
          message: expect.stringMatching(message),
        }),
      );
    });
  }

  for (const [members, ...listed] of leftOut[wire]) {
    it(`leaves out and lists: ${JSON.stringify(members)}`, () => {
      const { dropped, ...request } = read(wire, members);

      expect({ ...request, dropped: [] }).toEqual(read(wire, {}));
      expect(dropped.toSorted()).toEqual(listed.toSorted());
    });
  }
});
