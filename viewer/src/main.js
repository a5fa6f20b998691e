// SPDX-License-Identifier: MIT
//
// Fills the page of a report: views of its motions, charts of its curves. Titles and tables are there
// already. Once the first picture is drawn, data-ready of the root element says after how many
// milliseconds.

import { ChartCard } from './charts.js';
import { readColours } from './colours.js';
import { readReport, timeRange } from './data.js';
import { MotionCard } from './motion.js';
import { Clock } from './playback.js';

// behind the style of the charts, which it changes
import './style.css';

function start() {
    const report = readReport(document.getElementById('data').textContent);
    const colours = readColours();
    const place = (id) => document.getElementById(id);

    const clocks = report.motions.map((motion) => new Clock(timeRange(motion)));
    const motions = report.motions.map((motion, i) => new MotionCard(motion, clocks[i], colours,
        report.motions.length > 1));
    const charts = report.charts.map((chart) => new ChartCard(chart, clocks[chart.motion], colours));
    motions.forEach((card) => place('motions').append(card.node));
    charts.forEach((card) => place('charts').append(card.node));
    document.body.classList.toggle('has-motions', motions.length > 0);
    document.body.classList.toggle('has-charts', charts.length > 0);
    motions.forEach((card) => card.resize());
    drawCharts(charts);
    setTime(clocks);

    const dark = window.matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', () => {
        const now = readColours();
        [...motions, ...charts].forEach((card) => card.recolour(now));
    });
    window.addEventListener('hashchange', () => setTime(clocks));
    window.carom = { report, clocks, views: motions.map((card) => card.view) };
    requestAnimationFrame(() => {
        document.documentElement.dataset.ready = performance.now().toFixed(1);
        performance.mark('carom:first-frame');
    });
}

// first what is on the screen, then one chart after the other while nothing else is to be done
function drawCharts(charts) {
    const isSeen = (card) => card.node.getBoundingClientRect().top < window.innerHeight;
    const rest = charts.filter((card) => !isSeen(card));
    charts.filter(isSeen).forEach((card) => card.make());
    const next = () => {
        if (rest.length > 0) {
            rest.shift().make();
            setTimeout(next);
        }
    };
    requestAnimationFrame(() => setTimeout(next));
    const cards = new Map(charts.map((card) => [card.node, card]));
    const sized = new ResizeObserver((entries) => {
        entries.forEach((entry) => cards.get(entry.target).resize());
    });
    charts.forEach((card) => sized.observe(card.node));
}

// #t=0.5 opens a report at that time
function setTime(clocks) {
    const found = /^#t=(\d+(?:\.\d+)?)$/.exec(window.location.hash);
    clocks.forEach((clock) => clock.set(found ? Number(found[1]) : clock.time));
}

start();
