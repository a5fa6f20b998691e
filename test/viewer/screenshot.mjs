// SPDX-License-Identifier: MIT
//
// node screenshot.mjs REPORT PICTURE TIME WIDTH HEIGHT: a picture of a report at a time of its motion.

import { resolve } from 'node:path';

import { launch } from './browser.mjs';

const [report, picture, time, width, height] = process.argv.slice(2);
const browser = await launch();
const page = await browser.newPage({
    viewport: { width: Number(width), height: Number(height) },
    colorScheme: 'light',
});
await page.goto(`file://${resolve(report)}#t=${time}`);
await page.waitForFunction(() => document.documentElement.dataset.ready);
await page.waitForFunction(() => document.querySelectorAll('.plot-area').length ===
    document.querySelectorAll('.plot-area .uplot').length);
await page.screenshot({ path: picture });
await browser.close();
