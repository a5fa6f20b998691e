// SPDX-License-Identifier: MIT
//
// node screenshot.mjs REPORT PICTURE TIME WIDTH HEIGHT [SELECTOR]: a picture of a report at a time of its
// motion, from the top of the page or of the first element that SELECTOR names.

import { resolve } from 'node:path';

import { launch } from './browser.mjs';

const [report, picture, time, width, height, selector] = process.argv.slice(2);
const browser = await launch();
const page = await browser.newPage({
    viewport: { width: Number(width), height: Number(height) },
    colorScheme: 'light',
});
await page.goto(`file://${resolve(report)}#t=${time}`);
await page.waitForFunction(() => document.documentElement.dataset.ready);
await page.waitForFunction(() => document.querySelectorAll('.plot-area').length ===
    document.querySelectorAll('.plot-area .uplot').length);
if (selector) {
    await page.$eval(selector, (node) => window.scrollTo(0,
        window.scrollY + node.getBoundingClientRect().top));
}
await page.screenshot({ path: picture });
await browser.close();
