/** Bundles the two hosts of this folder for Node. */
module.exports = {
  mode: 'production',
  target: 'node20',
  entry: { imported: './imported.mjs', required: './required.cjs' },
  output: { path: `${__dirname}/webpack`, filename: '[name].cjs' },
};
