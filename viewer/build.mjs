// SPDX-License-Identifier: MIT
//
// node build.mjs FOLDER: bundles src/ into FOLDER/viewer.js and FOLDER/viewer.css.

import { build } from 'esbuild';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2];
if (!folder) {
    console.error('usage: node build.mjs FOLDER');
    process.exit(2);
}
await build({
    entryPoints: { viewer: join(here, 'src/main.js') },
    outdir: folder,
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2020',
    charset: 'utf8',
    legalComments: 'inline',
    logLevel: 'warning',
});
