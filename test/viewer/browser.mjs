// SPDX-License-Identifier: MIT
//
// Debian's Chromium, driven by Playwright. Where one of them is missing, the program ends with 77 and
// says what to install.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const viewer = join(dirname(fileURLToPath(import.meta.url)), '../../viewer');
const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'];

function skip(reason) {
    console.log(`skipped: ${reason}`);
    process.exit(77);
}

/** Starts the browser. */
export async function launch() {
    const program = process.env.CHROMIUM || PROGRAMS.find((path) => existsSync(path));
    if (!program) {
        skip('Chromium is missing; on Debian: apt-get install chromium');
    }
    let playwright;
    try {
        playwright = createRequire(join(viewer, 'package.json'))('playwright-core');
    } catch {
        skip('playwright-core is missing; run npm ci in viewer/');
    }
    return playwright.chromium.launch({ executablePath: program, args: FLAGS });
}
